"""Every mistake of cases.py is answered as messages.txt has it. To take over what has changed:
python tests/endtoend/messages/messages.py --update."""

import pathlib
import re
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import messages  # noqa: E402
from cases import CASES  # noqa: E402
from runs import ROOT  # noqa: E402
from scene import make_scene  # noqa: E402

WHAT_IS_SAID = re.compile(r"crosscut: |\w+: |! |False ")


@pytest.fixture(scope="module")
def scene():
    with tempfile.TemporaryDirectory(prefix="messages-") as folder:  # one that nobody may enter
        yield make_scene(pathlib.Path(folder).resolve())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_is_answered_as_it_was(scene, case):
    assert messages.made(scene, case) == messages.golden()[case.name]


def test_every_case_is_in_the_file_and_nothing_else():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 60
    assert list(messages.golden()) == names


def test_each_answer_says_something_and_shows_no_control_character():
    golden = messages.golden()
    assert golden
    for name, text in golden.items():
        answer = text.split("]\n", 1)[1]
        assert WHAT_IS_SAID.search(answer), name
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), name


def test_the_names_of_sources_are_those_that_the_sources_ask_for():
    """`record` refuses others, so a source that is missing there could not be chosen."""
    asked = set()
    for file in (ROOT / "python" / "crosscut").rglob("*.py"):
        asked.update(re.findall(r'\bwanted\("(\w+)"\)', file.read_text()))
    for file in (ROOT / "src" / "verbs").rglob("*.cc"):
        asked.update(re.findall(r'\bWanted\(options\.sources, "(\w+)"\)', file.read_text()))
    listed = (ROOT / "src" / "format" / "setting_names.h").read_text().split("kSources[] =")[1]
    known = set(re.findall(r'"(\w+)"', listed.split(";")[0]))
    assert {"pytorch", "opencl"} <= asked <= known
    assert known - asked == {"pycalls", "none"}  # nothing asks for these two
