"""What ARCHITECTURE.md says of the recording half, of a process as it is."""

import re
import subprocess
import sys

import pytest
from runs import PACKAGE, record_script

LIBRARIES = sorted(path for folder in ("lib", "plugins", ".")
                   for path in (PACKAGE / "crosscut" / folder).glob(
                       "*.so*" if folder != "plugins" else "*/*.so")
                   if "_read." not in path.name)
# What a C++ program has anyway, the recorder itself, and zstd.
LINKED = re.compile(r"(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libzstd|libcrosscut|"
                    r"ld-linux-[\w-]+)\.so(\.\d+)*")


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.name)
def test_the_recording_half_links_little(library):
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True,
                             check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert not [name for name in needed if not LINKED.fullmatch(name)], needed


STATE = """
import os, re, sys
def sockets():
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                yield fd
        except OSError:
            pass
status = open("/proc/self/status").read()
caught = int(re.search(r"SigCgt:\\s*(\\w+)", status)[1], 16)
# Signals 32 and 33 are the C library's own, from a process's second thread on.
print(hex(caught & ~(3 << 31)), list(sockets()))
"""


def test_a_recorded_process_has_no_handler_and_no_socket_more(tmp_path):
    alone = subprocess.run([sys.executable, "-c", STATE], capture_output=True, text=True)
    recorded = record_script(tmp_path / "run", STATE, "--python=samples")
    assert recorded.stdout == alone.stdout != ""
