"""The folder that the commands of the cases find: runs, traces, scripts and other things."""

import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

from runs import CROSSCUT, PACKAGE

TRACE = {"traceEvents": [{"ph": "X", "name": f"op{i}", "ts": 10 * i, "dur": 5, "pid": 1, "tid": 1}
                         for i in range(100)]}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def of_version(log, version):
    """A log's bytes, with a header as that version of the format would have it. docs/format.md."""
    head = bytearray(log[:64])
    struct.pack_into("<I", head, 8, version)
    struct.pack_into("<I", head, 60, 0)
    struct.pack_into("<I", head, 60, crc32c(head[:60]))
    return bytes(head) + log[64:]


def make_runs(scene):
    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    # Whether a sample falls into so short a program is chance.
    record = [CROSSCUT, "record", "--python=boundary", "-o", scene / "run", "--", sys.executable,
              scene / "train.py"]
    subprocess.run(record, check=True, capture_output=True, env=env, cwd=scene, timeout=300)
    (log,) = (scene / "run").glob("*.crosscut")
    shutil.copytree(scene / "run", scene / "runs" / "first")
    shutil.copytree(scene / "run", scene / "runs" / "second")
    for age, name in enumerate(("second", "first")):
        os.utime(scene / "runs" / name / "run.json", (10**9 - age, 10**9 - age))
    shutil.copytree(scene / "run", scene / "only" / "one")
    whole = log.read_bytes()
    for name, text in (("half", whole[:80]), ("stub", whole[:10]),
                       ("newer-log", of_version(whole, 9))):
        shutil.copytree(scene / "run", scene / name)
        (scene / name / log.name).write_bytes(text)
    log.rename(log.with_name("p1-abcdef.crosscut"))  # the command of a case names it
    for name, text in (("newer", '{"format": 9}'), ("broken", '{"format": 1, "comm'),
                       ("newer-import", '{"format": 9, "imported": ["0-trace.json"]}')):
        (scene / name).mkdir()
        (scene / name / "run.json").write_text(text)


def make_traces(scene):
    text = json.dumps(TRACE)
    (scene / "trace.json").write_text(text)
    (scene / "half.json").write_text(text[:len(text) // 2])
    packed = gzip.compress(text.encode(), mtime=0)
    (scene / "half.json.gz").write_bytes(packed[:len(packed) // 2])
    (scene / "first-event.json").write_text('{"traceEvents": [{"ph": "X", "na')
    (scene / "no-events.json").write_text('{"answer": 42}')
    (scene / "none.json").write_text("[]")
    (scene / "traces").mkdir()
    for age, name in enumerate(("rank1.json", "rank0.json")):
        shutil.copy(scene / "trace.json", scene / "traces" / name)
        os.utime(scene / "traces" / name, (10**9 - age, 10**9 - age))


def make_others(scene):
    """What is neither."""
    for name, text in (("empty", b""), ("notes.txt", b"hello, these are notes\n"),
                       ("binary", b"\1\2\3\4"), ("archive.zip", b"PK\3\4..."),
                       ("base.sqlite", b"SQLite format 3\0"), ("report.html", b"<!doctype html>"),
                       ("text.gz", gzip.compress(b"hello", mtime=0)), ("a.out", b"\x7fELF\2"),
                       ("noext", b"#!/usr/bin/env python3\n"), ("launch.sh", b"#!/bin/sh\n"),
                       ("plain.sh", b"echo\n"), ("secret.json", b"{}")):
        (scene / name).write_bytes(text)
    (scene / "nointerpreter").write_text("#!/no/such/interpreter\n")
    for name in ("nointerpreter", "launch.sh"):
        (scene / name).chmod(0o755)
    for name in ("nothing", "papers", "locked"):
        (scene / name).mkdir()
    (scene / "papers" / "paper.txt").write_text("text")
    os.mkfifo(scene / "pipe")
    for name in ("secret.json", "locked"):
        (scene / name).chmod(0)
        if os.geteuid() == 0:  # the cases run as nobody there: they own it
            os.chown(scene / name, 65534, 65534)


def make_pythons(scene):
    """Modules that are not there, and what an older Python would do at its start."""
    (scene / "absent").mkdir()
    (scene / "elsewhere").mkdir()
    for name in ("pandas", "polars", "pyarrow", "matplotlib"):
        words = f"No module named '{name}'"
        (scene / "absent" / f"{name}.py").write_text(
            f"raise ModuleNotFoundError({words!r}, name={name!r})\n")
    (scene / "old.py").write_text(
        "import os, runpy, sys\n"
        "for name in [name for name in sys.modules if name.startswith('crosscut')]:\n"
        "    del sys.modules[name]\n"
        "sys.version_info = (3, 8, 18, 'final', 0)\n"
        "(ours,) = [p for p in sys.path if p.endswith('inject')]\n"
        "try:\n"
        "    runpy.run_path(os.path.join(ours, 'sitecustomize.py'))\n"
        "except ImportError:\n"
        "    pass\n")


def make_torch(scene):
    """A PyTorch that can be found and not imported: enough to want a shim for."""
    (scene / "site" / "torch").mkdir(parents=True)
    (scene / "site" / "torch" / "__init__.py").write_text("raise ImportError('not a real one')\n")
    (scene / "site" / "torch" / "version.py").write_text("__version__ = '2.13.0'\n")


def make_scene(folder):
    """Fills `folder`; returns it."""
    folder.chmod(0o755)
    (folder / "train.py").write_text("import crosscut\ncrosscut.step_end()\n")
    (folder / "bin").mkdir()
    for name in ("python", "torchrun"):
        (folder / "bin" / name).symlink_to("/bin/true")
    make_traces(folder)
    make_others(folder)
    make_pythons(folder)
    make_torch(folder)
    make_runs(folder)
    return pathlib.Path(folder)
