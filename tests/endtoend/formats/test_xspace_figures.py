"""Tables of imported XSpaces against another reader's figures, on small spaces made here and, where
CROSSCUT_TRACE_CORPUS names a folder of them, on real ones, as they are and mutated.

CROSSCUT_MUTATIONS says how many mutations of each real space are tried.
"""

import os
import pathlib
import random
import sys

import pytest
import xspace_figures
import xspace_mutations
import xspace_reader
from runs import PACKAGE
from test_import_figures import sides

sys.path.insert(0, str(PACKAGE))

CORPUS = pathlib.Path(os.environ.get("CROSSCUT_TRACE_CORPUS", "/nonexistent"))
REAL = sorted(CORPUS.glob("*.xplane.pb"))
MUTATIONS = int(os.environ.get("CROSSCUT_MUTATIONS", "3"))


def assert_same(folder, space, of):
    file, data = folder / "host.xplane.pb", xspace_reader.encode(space)
    file.write_bytes(data)
    found = xspace_figures.differences(file, data)
    assert not found, (of, {key: sides(*both) for key, both in found.items()})


@pytest.mark.parametrize("seed", range(10))
def test_small_spaces_have_the_other_readers_figures(seed, tmp_path):
    for number in range(20):
        dice = random.Random(1000 * seed + number)
        space, names = xspace_mutations.small(dice), []
        if number > 0:
            space, names = xspace_mutations.mutate(space, dice)
        assert_same(tmp_path, space, (seed, number, names))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_real_spaces_have_the_other_readers_figures(path, tmp_path):
    space = xspace_reader.decode(path.read_bytes())
    assert_same(tmp_path, space, path.stem)
    for number in range(MUTATIONS):
        dice = random.Random(f"{path.stem} {number}")
        mutated, names = xspace_mutations.mutate(space, dice)
        assert_same(tmp_path, mutated, (number, names))
