"""Steps that change over the run as the first argument says. Writes the planned length of
each, and that by its own clock, both in nanoseconds, to the second."""
import json
import sys
import time

import crosscut

USUAL = 0.01
SHAPES = {
    "begins": lambda step: 0.02 * (step >= 140),
    "ends": lambda step: 0.02 * (step < 90),
    "spell": lambda step: 0.02 * (80 <= step < 140),
    "alternates": lambda step: 0.02 * (step // 40 % 2),
    "grows": lambda step: 0.00015 * step,
    "stable": lambda step: 0,
}


def usual():
    time.sleep(USUAL)


def extra(seconds):
    time.sleep(seconds)  # the extra


def main(shape, out):
    lengths = []
    for step in range(200):
        begin = time.perf_counter_ns()
        crosscut.step()
        usual()
        seconds = SHAPES[shape](step)
        if seconds > 0:
            extra(seconds)
        lengths.append((int(1e9 * (USUAL + seconds)), time.perf_counter_ns() - begin))
    with open(out, "w") as file:
        json.dump(lengths, file)


main(*sys.argv[1:])
