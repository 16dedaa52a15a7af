"""Records a small program and reads what each source says of itself: what a recording made here
would have, by the parts that would make it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from crosscut.doctor import parts
from crosscut.doctor.finding import Finding, State

LIMIT_S = 60
# Its OpenCL devices must be asked for, or nothing loads them. Drivers have been seen to crash here.
PROGRAM = """
import ctypes, time
import crosscut
with crosscut.operation("trial"):
    time.sleep(0.03)
try:
    cl = ctypes.CDLL("libOpenCL.so.1")
except OSError:
    print("no loader")
else:
    count = ctypes.c_uint(0)
    cl.clGetPlatformIDs(0, None, ctypes.byref(count))
    platforms = (ctypes.c_void_p * count.value)()
    cl.clGetPlatformIDs(count, platforms, None)
    for platform in map(ctypes.c_void_p, platforms):
        every, devices = ctypes.c_ulong(0xffffffff), ctypes.c_uint(0)
        cl.clGetDeviceIDs(platform, every, 0, None, ctypes.byref(devices))
        name = ctypes.create_string_buffer(256)
        cl.clGetPlatformInfo(platform, 0x0902, ctypes.c_size_t(255), name, None)
        print(devices.value, name.value.decode(errors="replace"))
"""
# Tools that enter a CUDA program by these hold the CUPTI of its process.
INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def _record(folder: str) -> tuple[str, list[dict[str, Any]], str]:
    """What the program printed, the rows of the table `sources`, and what went wrong."""
    run = os.path.join(folder, "run")
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CROSSCUT_")}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [os.path.dirname(parts.PACKAGE), environment.get("PYTHONPATH", "")]))
    command = [os.path.join(parts.PACKAGE, "bin", "crosscut"), "record", "-o", run,
               "--python=samples", "--", sys.executable, "-c", PROGRAM]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", [], str(error)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if not line.startswith("crosscut:")]
        return done.stdout, [], ": ".join([f"the program ended with status {done.returncode}",
                                           *said[-1:]])
    try:
        from crosscut import reading

        recorded = reading.read(run)
        rows = list(recorded.table("sources").rows())
        names = [row["operation"] for row in recorded.table("operations").rows()]
    except Exception as error:
        return done.stdout, [], f"the run cannot be read: {type(error).__name__}: {error}"
    return done.stdout, rows, "" if "trial" in names else "the run lacks the program's operation"


def _opencl(printed: str, sources: dict[str, dict[str, Any]]) -> Finding:
    if "no loader" in printed:
        return Finding("OpenCL", State.ABSENT, "no libOpenCL.so.1 on this machine")
    devices = [line.split(" ", 1) for line in printed.splitlines()]
    if not devices:
        return Finding("OpenCL", State.ABSENT, "a loader, but no platform with a device")
    names = ", ".join(f"{name} ({count} device{'' if count == '1' else 's'})"
                      for count, name in devices)
    if "opencl" in sources:
        return Finding("OpenCL", State.OK, names)
    if parts.has("lib/libcrosscut_opencl.so"):
        return Finding("OpenCL", State.MISSING, f"{names}: not recorded, and no source says why")
    return Finding("OpenCL", State.MISSING, f"{names}: not recorded, this build has no part for it",
                   "build Crosscut where OpenCL's headers are (Debian: opencl-headers)")


def _nvidia(sources: dict[str, dict[str, Any]]) -> Iterator[Finding]:
    if not (os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg")):
        yield Finding("NVIDIA", State.ABSENT, "no driver on this machine")
        return
    row = sources.get("cupti")
    if row is None:
        words = ("not recorded, and no source says why"
                 if parts.has("plugins/cupti/libcrosscut_cupti.so") else
                 "not recorded: this build has no part for it (CUPTI's headers were not there)")
        yield Finding("NVIDIA", State.MISSING, words, parts.REINSTALL)
    elif row["state"] == "on":
        yield Finding("NVIDIA", State.OK, f"CUPTI {row['version']} {row['message']}".rstrip())
    else:
        yield Finding("NVIDIA", State.MISSING, row["message"])
    for name in INJECTIONS:
        if os.environ.get(name):
            yield Finding("NVIDIA", State.LESS,
                          f"{name} names another tool ({os.environ[name]}), and CUPTI serves one",
                          f"unset {name}")


def _samples(sources: dict[str, dict[str, Any]]) -> Finding:
    row = sources.get("samples")
    if row is None or row["state"] != "on":
        words = row["message"] if row is not None else "no source says why"
        return Finding("samples", State.MISSING, f"not recorded: {words}")
    if not row["message"]:
        return Finding("samples", State.OK, "Python and native code (--python=samples)")
    return Finding("samples", State.LESS, row["message"],
                   "sysctl kernel.perf_event_paranoid=2, as root outside the container")


def findings() -> Iterator[Finding]:
    """Whether a recording works, and the lines of devices and samples."""
    with tempfile.TemporaryDirectory(prefix="crosscut-doctor-") as folder:
        printed, rows, problem = _record(folder)
    if problem:
        yield Finding("recording", State.MISSING, problem)
    else:
        yield Finding("recording", State.OK, "a program of one operation was recorded and read")
    sources = {row["name"]: row for row in rows}
    if rows:
        yield _opencl(printed, sources)
        yield from _nvidia(sources)
        yield _samples(sources)
