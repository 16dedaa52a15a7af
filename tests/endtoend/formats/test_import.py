"""The verb `import`, on files that others might have written."""

import collections
import json
import subprocess
import sys

import pytest
from runs import CROSSCUT, crosscut, record_script, table

WORK = """
import time, crosscut
for _ in range(3):
    crosscut.step()
    with crosscut.operation("work"):
        time.sleep(0.01)
"""


def run_import(*arguments):
    return subprocess.run([CROSSCUT, "import", *map(str, arguments)], capture_output=True,
                          text=True, timeout=60)


def works(run, folder):
    """When each operation `work` began: ns since 1970, ascending."""
    file = folder / "works.json"
    crosscut("export", run, "--to=chrome", "-o", file)
    trace = json.loads(file.read_text())
    base = int(trace["baseTimeNanoseconds"])
    return sorted(base + round(event["ts"] * 1000) for event in trace["traceEvents"]
                  if event.get("name") == "work" and event.get("ph") == "X")


def test_what_was_exported_is_imported_and_two_files_stand_on_one_clock(tmp_path):
    files = []
    for name in ("first", "second"):
        run = tmp_path / name
        record_script(run, WORK, "--control-steps=0")
        files.append(tmp_path / f"{name}.xplane.pb")
        crosscut("export", run, "--to=xspace", "-o", files[-1])
    together = tmp_path / "together"
    result = run_import(*files, "-o", together)
    assert result.returncode == 0, result.stderr
    for number, file in enumerate(files):
        file.unlink()  # the run holds all that it needs
    apart = [works(tmp_path / name, tmp_path) for name in ("first", "second")]
    assert len(apart[0]) == len(apart[1]) == 3
    found = works(together, tmp_path)
    assert len(found) == 6
    for one, both in zip(sorted(apart[0] + apart[1]), found):
        assert abs(one - both) < 10_000
    assert "work" in {row["operation"] for row in table(together, "operations")}


VIZTRACED = """
import threading
from viztracer import get_tracer

def leaf():
    return sum(range(1000))

def deep(n):
    return leaf() if n == 0 else deep(n - 1)

thread = threading.Thread(target=leaf, name="helper")
thread.start()
thread.join()
for _ in range(3):
    deep(2)
get_tracer().log_instant("mark")
"""


def test_what_viztracer_writes_today_is_python_of_the_threads_that_ran_it(tmp_path):
    pytest.importorskip("viztracer")
    script, trace = tmp_path / "program.py", tmp_path / "trace.json"
    script.write_text(VIZTRACED)
    subprocess.run([sys.executable, "-m", "viztracer", "--quiet", "-o", trace, script], check=True,
                   timeout=120)
    assert table(trace, "gaps") == []
    rows = {row["name"].split(" (")[0]: row for row in table(trace, "functions")}
    assert {row["layer"] for row in rows.values()} == {"python"}
    assert (rows["leaf"]["count"], rows["deep"]["count"]) == (4, 9)
    events = json.loads(trace.read_text())["traceEvents"]
    written = collections.Counter(event["name"].split(" (")[0] for event in events
                                  if event["ph"] == "X")
    assert {name: row["count"] for name, row in rows.items()} == dict(written)
    # From Python 3.13 on it does not find "helper", which has ended: it writes "Dummy-1".
    named = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert len(named) == 2 and {row["thread"] for row in table(trace, "thread_lives")} == named


def test_a_file_that_nothing_knows_leaves_nothing_behind(tmp_path):
    strange = tmp_path / "strange.bin"
    strange.write_bytes(b"\x01\x02 no profile at all")
    result = run_import(strange, "-o", tmp_path / "run")
    assert result.returncode == 3 and "no format that Crosscut reads" in result.stderr
    assert not (tmp_path / "run").exists()
    assert run_import(tmp_path / "nowhere", "-o", tmp_path / "run").returncode == 3
    assert not (tmp_path / "run").exists()
