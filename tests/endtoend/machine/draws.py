"""How many draws the machine makes, and the smallest one that shows a fault.

Without a word the seeds are 0, 1, 2, ...: as many as a test names. CROSSCUT_MACHINE_SECONDS=300
draws for so long in each test from CROSSCUT_MACHINE_SEED on, else from the clock.
"""

import dataclasses
import itertools
import os
import time

SECONDS = float(os.environ.get("CROSSCUT_MACHINE_SECONDS", "0"))
FIRST = int(os.environ.get("CROSSCUT_MACHINE_SEED", str(int(time.time())) if SECONDS else "0"))
MOST_TRIES = 400  # of smaller ones
_numbers = itertools.count()


def fresh():
    """A number that nobody had."""
    return next(_numbers)


def seeds(count):
    end, seed = time.monotonic() + SECONDS, FIRST
    while time.monotonic() < end if SECONDS else seed < FIRST + count:
        yield seed
        seed += 1


def smaller(thing):
    """The same with one part less, the largest parts first."""
    if isinstance(thing, list):
        for i in range(len(thing)):
            yield thing[:i] + thing[i + 1:]
        for i, part in enumerate(thing):
            for less in smaller(part):
                yield [*thing[:i], less, *thing[i + 1:]]
    elif dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            for less in smaller(getattr(thing, field.name)):
                yield dataclasses.replace(thing, **{field.name: less})


def shrunk(thing, fails):
    """What still fails of it; fails(thing) says what is wrong, "" for nothing."""
    tries = 0
    while tries < MOST_TRIES:
        for less in smaller(thing):
            tries += 1
            if less and fails(less):
                thing = less
                break
            if tries >= MOST_TRIES:
                return thing
        else:
            break
    return thing


def search(count, draw, says, write):
    """Fails with the first seed whose draw does, and with what is left of it. says(drawn) is what
    is wrong with it, "" for nothing; it may assert, too."""
    def fails(drawn):
        try:
            return says(drawn)
        except AssertionError as error:
            return str(error) or "an assertion"
    for seed in seeds(count):
        drawn = draw(seed)
        if said := fails(drawn):
            least = shrunk(drawn, fails)
            raise AssertionError(f"seed {seed}: {said}\nleast: {fails(least)}\n"
                                 f"{write(least).decode('utf-8', 'backslashreplace')}")
