"""Random programs under random changes of what is recorded: every recorded Python function is as
the program's own log has it.

CROSSCUT_PROGRAMS says how many programs, of each CPython version; CROSSCUT_PROGRAMS_SEED from
which seed on; `make soak STAGE=levels` has the many.
"""

import csv
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import pytest

import truth

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "pycalls"))
from pycalls_support import INTERPRETERS, SERVED  # noqa: E402

PACKAGE = HERE.parents[2] / "build" / "release" / "python"
CROSSCUT = PACKAGE / "crosscut" / "bin" / "crosscut"
PROGRAMS = int(os.environ.get("CROSSCUT_PROGRAMS", 2000))
SEED = int(os.environ.get("CROSSCUT_PROGRAMS_SEED", 1))
IN_ONE_PROCESS = 250
NO_BEGIN = "an end but no begin"  # of a sentence of the table `gaps`


def _table(run, name):
    done = subprocess.run([CROSSCUT, "table", run, name, "--format=csv"], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(done.stdout.splitlines()))


def _differences(version, folder, seed, count):
    """Runs so many programs; what differs, and how many spans were compared and intervals not."""
    run, log = folder / f"run-{seed}", folder / f"log-{seed}"
    done = subprocess.run(
        [INTERPRETERS[version][0], HERE / "program.py", run, str(seed), str(count), log],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True,
        timeout=600)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-4000:]
    error = max(int(row["error_ns"]) for row in _table(run, "clocks"))
    differences, compared, skipped = truth.compare(
        pickle.loads(log.read_bytes()), _table(run, "spans"), error)
    unsaid = [row["message"] for row in _table(run, "gaps")]
    shutil.rmtree(run)
    log.unlink()
    return differences + [said for said in unsaid if NO_BEGIN in said], compared, skipped


@pytest.mark.parametrize("version", SERVED)
def test_what_crosses_a_change_of_level_is_recorded_as_it_ran(version, tmp_path):
    compared = skipped = 0
    for first in range(0, PROGRAMS, IN_ONE_PROCESS):
        count = min(IN_ONE_PROCESS, PROGRAMS - first)
        differences, some, not_compared = _differences(version, tmp_path, SEED + first, count)
        assert not differences, "\n".join(map(str, differences[:20]))
        compared += some
        skipped += not_compared
    assert compared > 5 * PROGRAMS and skipped < compared / 50
