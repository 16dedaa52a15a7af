"""How much CUPTI itself adds to a program's calls of CUDA, and leaves it where recordings find it.

    python -m crosscut.cupti_cost [--pairs N] [--plugin SETTINGS] [-o FILE] -- COMMAND...

As RL-Scope does: runs the command with the work of devices recorded and without, in turn (ABBA),
and compares how long the calls of each kind take, whose own recording is the same in both. What a
call of a kind takes longer is CUPTI's work in it. A recording on the same machine, with the same
CUPTI and driver, subtracts that from the program's time. docs/cupti.md, "What it costs".
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence

import crosscut
from crosscut.plots.repeats import half_width

# By probe, what the file calls them; plugins/cupti/inflation.h has the same.
KINDS = {"CUDA launch": "launch", "CUDA copy": "copy", "CUDA memory set": "set",
         "CUDA call": "other"}
_COMMAND = pathlib.Path(__file__).absolute().parent / "bin" / "crosscut"
_FEWEST_CALLS = 20  # of a name in a run: of fewer no median is told

Medians = dict[tuple[str, str], tuple[float, int]]  # by kind and name: ns, and how many calls


class Failed(Exception):
    """What cannot be measured, in words for the user."""


def medians(run: crosscut.reading.Run) -> Medians:
    """How long the calls of a run took."""
    lengths: dict[tuple[str, str], list[int]] = {}
    for row in run.table("spans").rows():
        if row["probe"] in KINDS:
            lengths.setdefault((KINDS[row["probe"]], row["name"]), []).append(
                row["end_ns"] - row["begin_ns"])
    return {key: (statistics.median(of), len(of)) for key, of in lengths.items()
            if len(of) >= _FEWEST_CALLS}


def difference(without: Medians, recorded: Medians) -> dict[str, tuple[float, int]]:
    """By kind: how much longer a call takes, and of how many calls that is the mean."""
    longer: dict[str, float] = {}
    calls: Counter[str] = Counter()
    for (kind, name), (ns, count) in recorded.items():
        if (kind, name) in without:
            longer[kind] = longer.get(kind, 0.0) + count * (ns - without[kind, name][0])
            calls[kind] += count
    return {kind: (longer[kind] / calls[kind], calls[kind]) for kind in longer}


def costs(pairs: Iterable[dict[str, tuple[float, int]]]) -> dict[str, tuple[int, int, int, int]]:
    """By kind, from the pairs' differences: picoseconds, with 95 % bounds, and the calls behind
    them. Kinds whose interval holds nothing at all are left out."""
    by_kind: dict[str, list[tuple[float, int]]] = {}
    for pair in pairs:
        for kind, of in pair.items():
            by_kind.setdefault(kind, []).append(of)
    found = {}
    for kind, values in by_kind.items():
        lengths = [ns for ns, _ in values]
        mean, half = statistics.fmean(lengths), half_width(lengths)
        if len(values) > 1 and mean - half > 0:
            found[kind] = (round(mean * 1000), round((mean - half) * 1000),
                           round((mean + half) * 1000), sum(count for _, count in values))
    return found


def cache() -> pathlib.Path:
    """Where recordings look."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    base = pathlib.Path(folder) if folder.startswith("/") else pathlib.Path.home() / ".cache"
    return base / "crosscut" / "cupti-cost"


def _driver() -> str:
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n")[:510]
    except OSError:
        return "-"


def _record(command: Sequence[str], settings: str, folder: str) -> tuple[Medians, str]:
    """One run: its calls, and the version of its CUPTI."""
    done = subprocess.run(
        [_COMMAND, "record", "-o", folder, "--sources=cupti", "--python=off", "--plan=full",
         "--control-steps=0", f"--plugin={settings}", "--", *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed(f"the command ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    run = crosscut.read(folder)
    source = next((row for row in run.table("sources").rows() if "cupti" in str(row["name"])), None)
    if source is None or source["state"] != "on":
        raise Failed(f"CUPTI records nothing: {source['message'] if source else 'no source'}")
    version = re.search(r"API (\d+)", str(source["version"]))
    return medians(run), version[1] if version else "0"


def measure(command: Sequence[str], pairs: int, settings: str) -> tuple[
        dict[str, tuple[int, int, int, int]], str]:
    """The costs by kind, and the CUPTI that they are of. Raises Failed."""
    found, versions = [], set()
    for pair in range(pairs):
        of = {}
        for activities in ("off", "on") if pair % 2 == 0 else ("on", "off"):
            with tempfile.TemporaryDirectory(prefix="crosscut-cupti-") as folder:
                of[activities], version = _record(
                    command, f"{settings},activities={activities},inflation={os.devnull}",
                    os.path.join(folder, "run"))
                versions.add(version)
        found.append(difference(of["off"], of["on"]))
    return costs(found), versions.pop()


def main(arguments: list[str]) -> int:
    """0: measured and written; 1: nothing could be shown; 2: a wrong command line; 3: no run."""
    parser = argparse.ArgumentParser(prog="python -m crosscut.cupti_cost",
                                     description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5, help="runs with and without, each")
    parser.add_argument("--plugin", default="libcrosscut_cupti.so",
                        help="CUPTI's plugin, with settings behind commas")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=None,
                        help="the file, in place of the user's cache")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args(arguments)
    if asked.pairs < 2:
        parser.error("--pairs: two at least, since one shows no interval")
    try:
        found, version = measure(asked.command, asked.pairs, asked.plugin)
    except Failed as problem:
        print(f"crosscut: {problem}", file=sys.stderr)
        return 3
    if not found:
        print("crosscut: no kind of call takes longer while CUPTI records, as far as these runs "
              "show; more --pairs may", file=sys.stderr)
        return 1
    output = asked.output or cache()
    output.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{kind} {' '.join(map(str, of))}" for kind, of in sorted(found.items())]
    new = output.with_name(f".{output.name}.{os.getpid()}")
    new.write_text("\n".join([f"cupti {version} driver {_driver()}", *lines, ""]))
    new.replace(output)
    print("kind,ns,low_ns,high_ns,calls")
    for kind, (ps, low, high, calls) in sorted(found.items()):
        print(f"{kind},{ps / 1000:.0f},{low / 1000:.0f},{high / 1000:.0f},{calls}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
