"""Large files: what the reader itself takes does not grow with them, and damage costs no more than
what is damaged. CROSSCUT_TEST_LARGE=5 does it with 5 GB."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from runs import CROSSCUT, ROOT

sys.path.append(str(ROOT / "bench"))

import harness  # noqa: E402
import kineto_trace  # noqa: E402

GIGABYTES = os.environ.get("CROSSCUT_TEST_LARGE", "0.05")
READER_MIB = 32  # the program, and all that its reader holds of the text


def memory(path):
    return harness.measured([CROSSCUT, "info", path])[1]


@pytest.mark.parametrize("opened, name", [(open, "trace.json"), (gzip.open, "trace.json.gz")])
def test_the_reader_holds_no_more_of_a_longer_file(tmp_path, opened, name):
    """Events that become nothing: what is left is the reader's own."""
    event = json.dumps({"ph": "b", "id": 1, "name": "n" * 100, "pid": 1, "tid": 1, "ts": 1.5,
                        "args": {"list": list(range(50))}}).encode() + b",\n"
    took = []
    for megabytes in (8, 160):
        with opened(tmp_path / name, "wb") as out:
            out.write(b"[")
            for _ in range(megabytes):
                out.write(event * (1_000_000 // len(event)))
        took.append(memory(tmp_path / name))
    assert took[1] < took[0] + 2, took
    assert took[1] < READER_MIB, took


def test_memory_grows_with_the_tables_and_no_more_than_twice_as_fast(tmp_path):
    took, tables = [], []
    for events in (50_000, 1_600_000):  # few would leave it to where vectors double
        path = tmp_path / "trace.json"
        tables.append(kineto_trace.table_bytes(kineto_trace.write_trace(path, events)) / (1 << 20))
        took.append(memory(path))
    assert took[0] < READER_MIB + 2 * tables[0], (took, tables)
    assert took[1] - took[0] < 2 * (tables[1] - tables[0]), (took, tables)


def test_a_large_file_is_read_whole_and_damage_costs_what_is_damaged(tmp_path):
    result = subprocess.run(
        [sys.executable, ROOT / "bench" / "import_large.py", GIGABYTES, CROSSCUT, tmp_path],
        capture_output=True, text=True, timeout=1800)
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    print(result.stdout)
    assert lines[-1]["value"] == 0
    most = [line["value"] for line in lines if "info: memory beyond" in line["name"]]
    assert len(most) == 2 and max(most) < 2, lines
    assert not list(tmp_path.iterdir())
