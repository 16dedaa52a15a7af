"""The recording host with each bad plugin of the zoo in it: the job never notices, and the report
names who misbehaved."""

import concurrent.futures
import csv
import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "build" / "release" / "tests" / "zoo" / "plugins"
JOB = "import sys, time; time.sleep(0.2); print('the result: 42'); sys.exit(5)"

# These end the process themselves or break its memory: no host in the same process can help; C16
# and C13 of the checker are for them. `longjmps` and `ends_the_thread` hit a thread of the host's.
IN_PROCESS = {
    "crashes_at_load", "crashes_in_stop", "exits_in_start", "crashes_at_exit",
    "changes_exit_status", "hangs_at_exit", "frees_in_destroy", "assigns_params",
    "writes_past_struct", "writes_before_struct", "overruns_by_one", "longjmps",
    "ends_the_thread", "writes_past_heap_block", "writes_after_free", "crashes_on_stop_first",
    "crashes_on_double_stop", "prints_at_load", "prints", "type_on_stack",
}
# How the host names them in the table `sources`.
NAMED = {"throws", "hangs_in_start", "init_fails", "null_start", "no_entry_point",
         "unresolved_symbol", "digits_in_type", "first_session_fails"}


def zoo() -> list[str]:
    lines = (ROOT / "tests" / "zoo" / "zoo.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith("#")]
    return [name for name in names if name not in IN_PROCESS]


def record(name: str, folder: pathlib.Path) -> tuple[str, int, str, str]:
    """The plugin's name, the job's exit status and output, and its line in `sources`."""
    run = folder / name
    done = subprocess.run(
        ["crosscut", "record", "-o", run, "--plugin", PLUGINS / f"{name}.so", "--",
         sys.executable, "-c", JOB], capture_output=True, text=True, check=False, timeout=60)
    table = subprocess.run(["crosscut", "table", run, "sources"], capture_output=True, text=True,
                           check=False).stdout
    rows = [row for row in csv.DictReader(io.StringIO(table))
            if name in row["name"] or name in row["message"]]
    return name, done.returncode, done.stdout, rows[0]["state"] if rows else ""


@pytest.mark.skipif(not PLUGINS.is_dir(), reason="the zoo is not built")
def test_the_job_ends_as_ever_with_every_bad_plugin_and_the_culprit_is_named(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        ends = list(pool.map(lambda name: record(name, tmp_path), zoo()))
    for left in pathlib.Path("/dev/shm").glob("zoo-*"):  # one of them leaves files there
        left.unlink(missing_ok=True)
    changed = [end[:3] for end in ends if end[1:3] != (5, "the result: 42\n")]
    assert not changed
    silent = [end[0] for end in ends if end[0] in NAMED and end[3] != "failed"]
    assert not silent


@pytest.mark.skipif(not PLUGINS.is_dir(), reason="the zoo is not built")
def test_a_test_that_is_asked_for_by_name_runs_whatever_its_level():
    done = subprocess.run(["crosscut", "check-plugin", PLUGINS / "v1_plugin.so", "--only=C18",
                           "--fuzz-seconds=1", "--json"], capture_output=True, text=True,
                          check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "C18" in [test["id"] for test in json.loads(done.stdout)["tests"]]
