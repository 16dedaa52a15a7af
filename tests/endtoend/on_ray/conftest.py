"""Files of tests run beside each other, but `ray stop` ends every cluster of the machine."""

import fcntl
import pathlib
import tempfile

import pytest


@pytest.fixture(scope="module", autouse=True)
def alone_with_ray():
    """Keeps the tests of other files that start Ray waiting until this file's are done."""
    path = pathlib.Path(tempfile.gettempdir()) / "crosscut-tests-of-ray.lock"
    with open(path, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
