"""`crosscut doctor`: what a recording made on this machine would have, what not, and why."""

from __future__ import annotations

import json
import sys

from crosscut._command import Parser, answer
from crosscut.doctor import caches, frameworks, parts, trial
from crosscut.doctor.finding import Finding, State

MARKS = {State.OK: "ok     ", State.LESS: "less   ", State.ABSENT: "-      ",
         State.MISSING: "MISSING"}


def findings(build: bool) -> list[Finding]:
    """Everything that is checked, in the order in which it matters."""
    return [*parts.findings(), *frameworks.findings(build), *trial.findings(), *caches.findings()]


def _text(found: list[Finding]) -> str:
    lines = []
    for what, state, words, following in found:
        lines.append(f"{MARKS[state]}  {what}: {words}")
        if following:
            lines.append(f"           next: {following}")
    return "\n".join(lines)


def _json(found: list[Finding]) -> str:
    return json.dumps({"python": sys.executable, "findings": [
        {"what": what, "state": state.value, "words": words, "next": following}
        for what, state, words, following in found]}, indent=1)


def main(arguments: list[str]) -> int:
    """Prints what is found; 1 where something is missing that this machine could have."""
    parser = Parser(prog="crosscut doctor")  # the command's own table of arguments has the help
    for option in ("--build", "--clean", "--json"):
        parser.add_argument(option, action="store_true")
    options = parser.parse_args(arguments)
    told = [*caches.clean()] if options.clean else []
    if options.build or not options.clean:
        told += findings(options.build)
    missing = any(one.state is State.MISSING for one in told)
    return answer(_json(told) if options.json else _text(told), 1 if missing else 0)
