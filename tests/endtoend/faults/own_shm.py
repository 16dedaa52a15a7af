"""A /dev/shm of a test's own, so that what others of the machine leave there is not counted."""

import contextlib
import ctypes
import os
import subprocess

CLONE_NEWNS = 0x20000


@contextlib.contextmanager
def own_shm():
    """This process, which must be root's, sees an empty /dev/shm of its own in the block. Yields
    False where the machine forbids that."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    folder = os.getcwd()
    try:
        made = libc.unshare(CLONE_NEWNS) == 0 and all(
            subprocess.run(["mount", *words], capture_output=True).returncode == 0
            for words in (["--make-rprivate", "/"],
                          ["-t", "tmpfs", "-o", "mode=1777,size=1g", "none", "/dev/shm"]))
        yield made
    finally:
        if libc.setns(before, CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "the test's mount namespace cannot be left")
        os.close(before)
        os.chdir(folder)
