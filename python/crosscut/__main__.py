"""`python -m crosscut ...` and the installed command: hands over to the program crosscut/bin, which
comes back here for the verbs whose work is done in Python."""

from __future__ import annotations

import os
import signal
import sys


def run_verb(arguments: list[str]) -> int | None:
    """Runs `doctor`, `plot`, `validate`, `map`, `reduce`, `table` (as Parquet), or a verb that
    reads a cluster folder, in this Python; an exit code. None for other verbs."""
    from crosscut._command import ended

    return ended(lambda: _run(arguments))  # what is imported for them may fail, too


def _run(arguments: list[str]) -> int | None:
    verb, *rest = arguments or [""]
    if verb == "doctor":
        from crosscut import doctor

        return doctor.main(rest)
    if verb == "plot":
        from crosscut import plots

        return plots.main(rest)
    if verb in ("map", "reduce", "report", "info", "table"):
        from crosscut import cluster

        if verb in ("map", "reduce") or any(map(cluster.is_cluster, rest)):
            return cluster.main(verb, rest)
    if verb == "table":
        from crosscut import _table

        return _table.main(rest)
    if verb == "validate":
        from crosscut import validation

        return validation.main(rest)
    return None


def main() -> int:
    """Becomes bin/crosscut with the same arguments. Without that program, the verbs that need
    Python work all the same."""
    # Python ignores these two, and what ignores a signal hands that on to the recorded program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "crosscut")
    try:
        os.execve(program, [program, *sys.argv[1:]],
                  os.environ | {"CROSSCUT_INTERPRETER": sys.executable})
    except OSError as error:
        code = run_verb(sys.argv[1:])
        if code is not None:
            return code
        print(f"crosscut: {program}: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
