"""Our reader and writer of XSpaces against protobuf's own classes (round_trip.py)."""

import os
import pathlib
import subprocess

import pytest
from frameworks import python_with

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
TOOL = ROOT / "build" / "release" / "tests" / "python" / "xspace" / "xspace_tool"


def round_trip(*arguments):
    done = subprocess.run([python_with("tensorflow"), HERE / "round_trip.py", TOOL,
                           *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "same\n"


def test_a_thousand_generated_spaces_read_and_write_alike(tmp_path):
    round_trip(tmp_path, "generated", 1000)


def test_a_real_profile_reads_alike(tmp_path):
    folder = os.environ.get("CROSSCUT_TRACE_CORPUS", "")
    path = pathlib.Path(folder) / "jax-mi300x8-conv.xplane.pb"
    if not folder or not path.exists():
        pytest.skip("CROSSCUT_TRACE_CORPUS names no folder with jax-mi300x8-conv.xplane.pb")
    round_trip(tmp_path, "file", path)
