"""Writes the table of docs/pytorch.md that has crosscut.torch.profile beside torch.profiler over
the programs of tests/endtoend/pytorch/profile_programs.py: rows, calls, bytes, FLOPs of one pass.

    python bench/torch_profile.py [--write docs/pytorch.md] [PROGRAM...]
"""

import argparse
import gc
import json
import multiprocessing
import pathlib
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "endtoend" / "pytorch"))

BEGIN, END = "<!-- bench/torch_profile.py -->", "<!-- end -->"
HEAD = ["program", "rows", "calls", "bytes", "FLOPs"]


def measure(name, out):
    """Of one program, in a process of its own."""
    import profile_compare
    import torch

    import crosscut.torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    gc.disable()
    run = profile_compare.profile_programs.PROGRAMS[name]()
    run()
    run()
    told = [profile_compare.told(module.profile, run)
            for module in (torch.profiler, crosscut.torch)]
    out.put(told)


def line(name):
    context = multiprocessing.get_context("fork")
    out = context.SimpleQueue()
    child = context.Process(target=measure, args=(name, out))
    child.start()
    theirs, ours = out.get()
    child.join()
    keys = set(theirs) | set(ours)

    def same(column, rows=keys):
        return all((theirs.get(key) or [0] * 4)[column] == (ours.get(key) or [0] * 4)[column]
                   for key in rows)

    bytes_ = "equal" if same(1) and same(2) else "differ"
    flops = sum(row[3] for key, row in ours.items()
                if not key.startswith(("aten::add ", "aten::mul ")))
    calls = sum(row[0] for row in ours.values())
    return [name.replace("_", " "), f"{len(ours)}", f"{calls} {'=' if same(0) else '≠'}", bytes_,
            f"{flops:,}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("programs", nargs="*")
    asked = parser.parse_args()
    import profile_programs

    lines = []
    for name in asked.programs or [name for name in profile_programs.PROGRAMS
                                   if name != "nothing"]:
        lines.append(line(name))
        print(json.dumps(lines[-1]), flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True,
                            capture_output=True).stdout.strip()
    rows = [HEAD, ["---"] * len(HEAD), *lines]
    text = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    text = f"{BEGIN}\n{text}\n\n`bench/torch_profile.py` at {commit}.\n{END}"
    if asked.write is not None:
        document = asked.write.read_text()
        before, rest = document.split(BEGIN)
        asked.write.write_text(before + text + rest.split(END)[1])


main()
