"""A skip whose reason nobody allowed fails: of googletest's log, and of pytest in CI."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import check_skips  # noqa: E402

LOG = """[ RUN      ] A.B
/x/a_test.cc:3: Skipped
no /dev/full

[  SKIPPED ] A.B (0 ms)
[ RUN      ] A.C
[       OK ] A.C (0 ms)
[ RUN      ] A.D
/x/a_test.cc:9: Skipped
%s

[  SKIPPED ] A.D (0 ms)
"""


@pytest.mark.parametrize("reason, status", [("no localedef here", 0), ("I had no time", 1),
                                            ("no localedef here, I think", 1)])
def test_googletests_skips_are_told_with_their_reasons(tmp_path, reason, status):
    log = tmp_path / "LastTest.log"
    log.write_text(LOG % reason)
    done = subprocess.run([sys.executable, check_skips.__file__, log], capture_output=True,
                          text=True)
    assert done.returncode == status
    assert "skipped: A.B: no /dev/full\n" in done.stdout
    assert f"skipped: A.D: {reason}\n" in done.stdout


@pytest.mark.parametrize("how", ["pytest.skip({})", "pytest.importorskip('nothing', reason={})"])
@pytest.mark.parametrize("reason, ci, status", [
    ("no mount namespaces here", "1", 0), ("I had no time", "1", 1), ("I had no time", "", 0)])
def test_pytest_fails_in_ci_where_a_reason_is_not_allowed(tmp_path, how, reason, ci, status):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text().replace(
        "pathlib.Path(__file__).parents[1]", f"pathlib.Path({str(ROOT)!r})"))
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n\ndef test_one():\n    {how.format(repr(reason))}\n"
        "def test_two(): pass\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                           "--rootdir", tmp_path, "-c", os.devnull, tmp_path],
                          capture_output=True, text=True, env={**os.environ, "CI": ci})
    assert done.returncode == status, done.stdout + done.stderr
    assert (f"{reason!r} is not in allowed_skips.txt" in done.stdout) == (status == 1)
