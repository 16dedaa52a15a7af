"""What torch.profiler and crosscut.torch.profile tell of the same programs, as JSON: by program the
rows of each, {key: [count, CPU bytes, own CPU bytes, FLOPs]}. Arguments: the programs' names."""

import gc
import json
import multiprocessing.util
import os
import sys
import tempfile
import warnings

import profile_programs
import torch
import torch._dynamo  # which every optimizer imports: here, once for all children
import torch.profiler

import crosscut.torch


def rows(prof):
    """By name and the shapes of tensors: of a function of the program's own torch.profiler tells
    what is no tensor, too."""
    found = {}
    for row in prof.key_averages(group_by_input_shape=True):
        tensors = [shape for shape in row.input_shapes or [] if shape]
        mine = found.setdefault(f"{row.key} {tensors}", [0] * 4)
        for i, value in enumerate((row.count, row.cpu_memory_usage, row.self_cpu_memory_usage,
                                   row.flops)):
            mine[i] += value
    return found


def told(profile, run):
    torch.manual_seed(0)
    gc.collect()
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
        run()
    return rows(prof)


def compared(name):
    run = profile_programs.PROGRAMS[name]()
    run()
    run()
    return [told(torch.profiler.profile, run), told(crosscut.torch.profile, run)]


def in_a_child(name):
    """torch.profiler keeps the sizes of blocks that it saw for the life of a process, and takes
    them for those of later blocks at the same place."""
    with tempfile.TemporaryFile("w+") as file:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                json.dump(compared(name), file)
                file.flush()
                status = 0
            finally:
                multiprocessing.util._exit_function()  # as at the end of its children
                os._exit(status)
        if os.waitpid(child, 0)[1] != 0:
            raise RuntimeError(name)
        file.seek(0)
        return json.load(file)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    gc.disable()  # what it frees, and when, is no part of a program
    print(json.dumps({name: in_a_child(name)
                      for name in sys.argv[1:] or profile_programs.PROGRAMS}))


if __name__ == "__main__":
    main()
