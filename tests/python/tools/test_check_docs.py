"""tools/check_docs.py finds what is wrong with links and with the rows of docs/seeds.md."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools"))
import check_docs  # noqa: E402

ROW = "| {} | it is so | [`test_it`](../tests/test_it.py), [page](page.md#its-2nd-part) | {} |\n"
PAGE = ("# Asked\n\n## One\n3 statements: 1 hold, 1 hold in part, 1 not yet.\n\n"
        "| | says | where | |\n| --- | --- | --- | --- |\n" +
        ROW.format(1, "holds; but slowly") + ROW.format(2, "in part: here") +
        ROW.format(3, "not yet: nowhere"))


@pytest.fixture
def found(tmp_path, monkeypatch):
    """What is wrong with docs/seeds.md if that is its text."""
    for path, text in (("docs/page.md", "# Page\n## Its 2nd part\n"),
                       ("tests/test_it.py", "def test_it(): pass\n")):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(check_docs, "ROOT", tmp_path)
    monkeypatch.setattr(check_docs, "listed", lambda *patterns: ["docs/seeds.md", "docs/page.md"])

    def problems(text):
        (tmp_path / "docs/seeds.md").write_text(text)
        return check_docs.statements() + check_docs.sections()

    return problems


def test_a_page_that_is_right_has_no_finding(found):
    assert found(PAGE) == []


@pytest.mark.parametrize("right, wrong, words", [
    ("[`test_it`]", "[`test_that`]", "has no test_that"),
    ("page.md#its-2nd-part", "page.md#another", "has no section another"),
    ("| 2 |", "| 4 |", "row 2 has no number"),
    ("| in part: here |", "| so so |", "row 2 has no number, link or state"),
    ("| in part: here |", "| holds |", "of 3 statements 2 hold, 0 in part, 1 not yet"),
    (ROW.format(3, "not yet: nowhere"), "", "of 2 statements 1 hold"),
])
def test_what_is_wrong_is_found(found, right, wrong, words):
    assert right in PAGE
    assert any(words in finding for finding in found(PAGE.replace(right, wrong)))
