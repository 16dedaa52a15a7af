"""Programs on Ray, recorded, and the arrows of what was recorded."""

import bisect
import json
import os
import pathlib
import subprocess

import pytest
from runs import PACKAGE, ROOT, crosscut, record

HERE = pathlib.Path(__file__).parent
# A loaded machine needs more than Ray's 30 s to start a cluster.
SETTINGS = {"RAY_agent_register_timeout_ms": "120000", "RAY_AUTH_MODE": "disabled",
            "RAY_raylet_start_wait_time_s": "120", "RAY_USAGE_STATS_ENABLED": "0"}


def python_of(*packages):
    """A Python that has them: CROSSCUT_RL_PYTHON or .venv-rl (tools/setup.sh tests); else skips."""
    python = pathlib.Path(os.environ.get("CROSSCUT_RL_PYTHON") or
                          ROOT / ".venv-rl" / "bin" / "python")
    if not python.exists():
        pytest.skip(f"{python} is not there")
    for package in packages:
        look = f"import importlib.util as it, sys; sys.exit(not it.find_spec({package!r}))"
        if subprocess.run([python, "-c", look]).returncode != 0:
            pytest.skip(f"{python} has no {package}")
    return python


def run_recorded(run, python, program, *arguments, flags=(), **settings):
    """Records a program of this folder, which must succeed; the CompletedProcess."""
    done = record(run, [python, HERE / program, *arguments], *flags, timeout=300,
                  env=SETTINGS | settings)
    assert done.returncode == 0, done.stderr
    return done


def run_alone(python, program, *arguments):
    env = {**os.environ, **SETTINGS, "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run([python, HERE / program, *arguments], env=env, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


class Spans:
    """What `export` says of a run: its spans by process and thread, and its arrows."""

    def __init__(self, run, folder):
        path = folder / "trace.json"
        crosscut("export", run, "-o", path)
        self.events = json.loads(path.read_text())["traceEvents"]
        self.processes = {event["pid"]: event["args"]["name"] for event in self.events
                          if event["ph"] == "M" and event["name"] == "process_name"}
        self._of_thread = {}
        for event in self.events:
            if event["ph"] == "X":
                self._of_thread.setdefault((event["pid"], event["tid"]), []).append(event)
        for spans in self._of_thread.values():
            spans.sort(key=lambda span: (span["ts"], -span["dur"]))
        self._begins = {at: [span["ts"] for span in spans]
                        for at, spans in self._of_thread.items()}

    def named(self, name):
        return sorted((event for event in self.events
                       if event["ph"] == "X" and event["name"] == name),
                      key=lambda event: event["ts"])

    def innermost(self, event):
        """The innermost span at an arrow's end."""
        spans = self._of_thread[event["pid"], event["tid"]]
        place = bisect.bisect_right(self._begins[event["pid"], event["tid"]], event["ts"] + 1e-3)
        for span in reversed(spans[:place]):
            if span["ts"] + span["dur"] >= event["ts"] - 1e-3:
                return span
        return None

    def arrows(self):
        """(span it leaves, span it arrives at)."""
        ends = {}
        for event in self.events:
            if event["ph"] in "sf":
                ends.setdefault(event["id"], {})[event["ph"]] = event
        return [(self.innermost(pair["s"]), self.innermost(pair["f"])) for pair in ends.values()]

    def arrow_names(self):
        """How many lead from one to the other, each "PROCESS: SPAN"."""
        counts = {}
        for pair in self.arrows():
            key = tuple(f"{self.processes[span['pid']]}: {span['name']}" for span in pair)
            counts[key] = counts.get(key, 0) + 1
        return counts
