"""Tables of imported Chrome traces against another reader's figures, on small traces made here and,
where CROSSCUT_TRACE_CORPUS names a folder of them, on real ones, as they are and mutated.

CROSSCUT_MUTATIONS says how many mutations of each real trace are tried.
"""

import gzip
import json
import os
import pathlib
import random
import subprocess
import sys

import chrome_figures
import chrome_mutations
import chrome_reader
import pytest
from runs import PACKAGE, table

sys.path.insert(0, str(PACKAGE))

CORPUS = pathlib.Path(os.environ.get("CROSSCUT_TRACE_CORPUS", "/nonexistent"))
REAL = sorted(CORPUS.glob("kineto-*.json.gz"))
MUTATIONS = int(os.environ.get("CROSSCUT_MUTATIONS", "3"))
MOST_EVENTS = 3000  # of a real trace that are mutated: a part of it that begins anywhere


def assert_same(folder, text, of):
    file = folder / "trace.json"
    file.write_text(text, encoding="utf-8")
    found = chrome_figures.differences(file, text)
    assert not found, (of, {key: sides(*both) for key, both in found.items()})


def sides(ours, theirs):
    """The parts in which two figures differ."""
    if hasattr(ours, "items") and hasattr(theirs, "items"):
        keys = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
        return [(key, ours.get(key), theirs.get(key)) for key in keys[:5]]
    return ours, theirs


@pytest.mark.parametrize("seed", range(20))
def test_small_traces_have_the_other_readers_figures(seed, tmp_path):
    for number in range(15):
        dice = random.Random(1000 * seed + number)
        events, names = chrome_mutations.small(dice), []
        if number > 0:
            events, names = chrome_mutations.mutate(events, dice)
        assert_same(tmp_path, chrome_mutations.text_of(events, dice), (seed, number, names))


@pytest.mark.parametrize("mutation", chrome_mutations.MUTATIONS, ids=lambda m: m.__name__)
def test_each_mutation_alone_has_the_other_readers_figures(mutation, tmp_path):
    for number in range(5):
        dice = random.Random(number)
        events = mutation(chrome_mutations.small(dice), dice)
        assert_same(tmp_path, chrome_mutations.text_of(events, dice), (mutation.__name__, number))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_real_traces_have_the_other_readers_figures(path, tmp_path):
    text = gzip.open(path).read().decode()
    assert_same(tmp_path, text, path.stem)
    whole = json.loads(text)["traceEvents"]
    for number in range(MUTATIONS):
        dice = random.Random(f"{path.stem} {number}")
        first = dice.randrange(max(1, len(whole) - MOST_EVENTS))
        last = first + MOST_EVENTS
        part = [event for i, event in enumerate(whole) if first <= i < last or event["ph"] == "M"]
        events, names = chrome_mutations.mutate(part, dice)
        assert_same(tmp_path, chrome_mutations.text_of(events, dice), (number, names))
