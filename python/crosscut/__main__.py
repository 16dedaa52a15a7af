"""`python -m crosscut ...` and the installed command: hands over to the program crosscut/bin."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Becomes bin/crosscut with the same arguments; runs `doctor`, `plot` and `validate` here,
    where Python is needed."""
    # Python ignores these two, and what ignores a signal hands that on to the recorded program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if len(sys.argv) > 1 and sys.argv[1] == "doctor":
        from crosscut import doctor

        return doctor.main(sys.argv[2:])
    if len(sys.argv) > 1 and sys.argv[1] == "plot":
        from crosscut import plots

        return plots.main(sys.argv[2:])
    if len(sys.argv) > 1 and sys.argv[1] == "validate":
        from crosscut import validation

        return validation.main(sys.argv[2:])
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "crosscut")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        print(f"crosscut: {program}: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
