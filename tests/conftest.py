"""What a test leaves outside of its folder goes when it ends: rings of programs that it killed, or
whose run nobody read, and folders of the libraries that its programs use. In CI a skip whose reason
is not in allowed_skips.txt fails the run."""

import ctypes
import os
import pathlib
import signal
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools"))
import check_skips  # noqa: E402

# Programs of tests import PyTorch in half the time where its modules are compiled once, also where
# the machine keeps that from being written down.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = str(pathlib.Path(__file__).parents[1] / "build" / "pycache")

# What is begun in the background ignores these, and so would all programs of tests.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

SHARED = pathlib.Path("/dev/shm")
WRONG = pytest.StashKey()
OWNER = struct.Struct("<32xq24xQQ")  # of a ring's header: process, device and number of its run


def pytest_configure(config):
    """Root's tests see a /dev/shm of their own, where the machine allows that: what others leave
    there, or another run of the tests, is nothing to them."""
    clone_newns = 0x20000
    if os.geteuid() == 0 and ctypes.CDLL(None).unshare(clone_newns) == 0:
        for words in (["--make-rprivate", "/"], ["-t", "tmpfs", "-o", "mode=1777", "none", SHARED]):
            if subprocess.run(["mount", *words], capture_output=True).returncode != 0:
                break


skips = []  # (test, reason)


def pytest_runtest_logreport(report):
    if report.skipped and not hasattr(report, "wasxfail"):
        skips.append((report.nodeid, report.longrepr[2].removeprefix("Skipped: ")))


def pytest_collectreport(report):
    if report.skipped:
        skips.append((report.nodeid, report.longrepr[2].removeprefix("Skipped: ")))


def pytest_sessionfinish(session):
    if os.environ.get("CI") and not hasattr(session.config, "workerinput"):
        session.config.stash[WRONG] = check_skips.unknown(skips)
        if session.config.stash[WRONG] and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    for test, reason in config.stash.get(WRONG, []):
        terminalreporter.line(f"{test}: skipped, and {reason!r} is not in allowed_skips.txt")


def remove_rings(folder):
    """Those of runs under `folder` whose process has ended. docs/format.md, "The ring file"."""
    runs = {(status.st_dev, status.st_ino)
            for status in (os.stat(path) for path, _, _ in os.walk(folder))}
    for ring in SHARED.glob("crosscut-*.ring"):
        try:
            with ring.open("rb") as file:
                pid, device, number = OWNER.unpack(file.read(OWNER.size))
            if (device, number) in runs and not pathlib.Path(f"/proc/{pid}").exists():
                ring.unlink()
        except (OSError, struct.error):  # it went meanwhile, or belongs to somebody else
            continue


@pytest.fixture(scope="session", autouse=True)
def stable_baselines3_logs_among_the_tests_files(tmp_path_factory):
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("stable-baselines3"))


@pytest.fixture(autouse=True)
def leaves_no_ring(request):
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None:
        remove_rings(folder)
