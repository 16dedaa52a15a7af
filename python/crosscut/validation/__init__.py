"""`crosscut validate [OPTIONS] [OPTIONS OF record] -- COMMAND`: are the corrected times true?

Runs the command recorded and unrecorded in turn and compares. docs/validation.md says what the
figures are.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from crosscut._command import Parser, answer, one_of, say
from crosscut.validation import judge, runs
from crosscut.validation.runs import FINDING, UNREADABLE

GOOD = 0
INTERRUPTED = 130


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line, with `command` and, as `record`, the options that are not ours; exits with
    2 where it is wrong. The command's own table of arguments has their help."""
    parser = Parser(prog="crosscut validate", allow_abbrev=False)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--within", type=float, default=5)
    parser.add_argument("--times")
    parser.add_argument("--format", type=one_of("format", ("text", "json")), default="text")
    own, dashes, command = _split(arguments)
    options, options.record = parser.parse_known_args(own)
    options.command = command
    if not dashes or not command:
        parser.error("no command is given: crosscut validate [OPTIONS] -- COMMAND...")
    if options.pairs < 1:
        parser.error("--pairs must be at least 1")
    if not options.within >= 0:
        parser.error("--within must be at least 0")
    return options


def _split(arguments: Sequence[str]) -> tuple[list[str], bool, list[str]]:
    """What stands before the first "--", whether there is one, and what stands behind it."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], at < len(words), words[at + 1:]


def result_of(measured: runs.Runs, within: float) -> dict[str, Any]:
    """What the runs say, ready for JSON: `total` and, where there are times of steps, `step` are
    judge.Summary; `misses` says why it does not hold, `not_shown` why the runs do not tell."""
    recorded, pairs = measured.recorded, len(measured.recorded)
    told = {"total time": judge.summarize(measured.unrecorded, [run.life for run in recorded])}
    steps = [run.step for run in recorded if run.step is not None]
    if steps:
        told["step"] = judge.summarize(
            [times["step_median_ns"] for times in measured.unrecorded_times], steps)
    misses, not_shown = ([f"{name}: {words}" for name, summary in told.items()
                          for words in of(summary, pairs, within)]
                         for of in (judge.misses, judge.not_shown))
    return {"pairs": pairs, "within": within, "holds": not misses and not not_shown,
            "misses": misses, "not_shown": not_shown, "total": asdict(told["total time"]),
            "step": asdict(told["step"]) if steps else None,
            "outside_ns": statistics.median(run.outside_ns for run in recorded),
            "checked": sum(run.checked for run in recorded) / pairs,
            "not_checked": sorted({run.message for run in recorded if not run.checked}),
            "unrecorded_ns": measured.unrecorded,
            "recorded": [asdict(run.life) for run in recorded]}


LINES = (("unrecorded, median", "unrecorded_ns"), ("recorded", "raw_inflation"),
         ("corrected", "error"), ("A/A band", "aa_band"),
         ("interval, half of it", "half_width"), ("intervals that hold", "covered"),
         ("unrecorded runs in them", "covered_unrecorded"),
         ("with runs' spread", "covered_with_spread"))


def cell(name: str, value: float | None) -> str:
    """A field of judge.Summary for people."""
    if value is None:
        return "not known"
    if name == "unrecorded_ns":
        return f"{value / 1e9:.3f} s" if value >= 1e9 else f"{value / 1e6:.3f} ms"
    if name.startswith("covered"):
        return f"{value:.0%}"
    return f"{value:+.2%}" if name in ("raw_inflation", "error") else f"{value:.2%}"


def as_text(result: dict[str, Any], command: Sequence[str]) -> str:
    """The result for people."""
    columns = [name for name in ("total", "step") if result[name]]
    lines = [f"{result['pairs']} pairs of runs, unrecorded and recorded: {shlex.join(command)}",
             " " * 26 + "".join(f"{name:>14}" for name in columns)]
    for title, name in LINES:
        cells = (f"{cell(name, result[column][name]):>14}" for column in columns)
        lines.append(f"  {title:<24}" + "".join(cells))
    lines.append(f"  Outside the window, where nothing is corrected: "
                 f"{result['outside_ns'] / 1e6:.0f} ms of the total.")
    lines += [f"  Control steps: {message}" for message in result["not_checked"]]
    if result["misses"]:
        lines.append("The corrected times are NOT true: " + "; ".join(result["misses"]))
    if result["not_shown"]:
        lines.append("Not shown whether the corrected times are true: "
                     + "; ".join(result["not_shown"]))
    if result["holds"]:
        lines.append(f"The corrected times are true within {result['within']:.2%}.")
    if result["pairs"] < judge.FEWEST_RUNS_FOR_COVERAGE:
        lines.append(f"Whether the intervals hold is judged from "
                     f"{judge.FEWEST_RUNS_FOR_COVERAGE} pairs on.")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Measures and prints; an exit code of the command."""
    options = parse(arguments)

    def tell(line: str) -> None:
        if sys.stderr.isatty():
            say(line)

    command = runs.Command(options.command, options.record, options.times)
    try:
        result = result_of(runs.measure(command, options.pairs, say=tell), options.within / 100)
    except runs.Failed as failure:
        say(str(failure))
        return failure.code
    except KeyboardInterrupt:
        return INTERRUPTED
    if options.format == "json":
        text = json.dumps(
            {"command": options.command, "record_options": options.record, **result}, indent=1)
    else:
        text = as_text(result, options.command)
    return answer(text, FINDING if result["misses"] else
                  UNREADABLE if result["not_shown"] else GOOD)
