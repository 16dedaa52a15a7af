"""Where verbs write: beside the place, under a name that nobody foresees, over no input."""

import gzip
import json
import os
import pathlib
import subprocess

import pytest
from runs import CROSSCUT

TRACE = json.dumps({"traceEvents": [
    {"ph": "X", "name": "one_of_a_kind", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]})
LONGEST = 255  # bytes of a name


def crosscut(*words, cwd=None, **more):
    return subprocess.run([CROSSCUT, *map(os.fspath, words)], cwd=cwd, capture_output=True,
                          text=True, timeout=60, **more)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(TRACE)
    return path


@pytest.fixture
def space(trace):
    path = trace.with_name("trace.xplane.pb")
    assert crosscut("export", trace, "--to=xspace", "-o", path).returncode == 0
    return path


VERBS = [("export", "--to=chrome"), ("export", "--to=xspace"), ("report",), ("table",)]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["itself", "hard", "soft"])
def test_no_verb_writes_over_what_it_reads(space, verb, name):
    before = space.read_bytes()
    output = space.with_name(name)
    if name == "itself":
        output = space
    elif name == "hard":
        os.link(space, output)
    else:
        output.symlink_to(space.name)
    words = [*verb, space, *(["processes"] if verb == ("table",) else []), "-o", output]
    done = crosscut(*words)
    assert done.returncode == 2 and "it is what is read" in done.stderr
    assert space.read_bytes() == before == output.read_bytes()


def test_diff_writes_over_neither_side_nor_a_baselines_copy(trace):
    other, here = trace.with_name("other.json"), trace.parent
    other.write_text(TRACE)
    assert crosscut("baseline", "save", "main", trace, cwd=here).returncode == 0
    for output in (trace, other, here / ".crosscut/baselines/main/001-trace.json"):
        base = "main" if "main" in output.parts else trace
        done = crosscut("diff", base, other, "-o", output, cwd=here)
        assert done.returncode == 2 and output.read_text() == TRACE, done.stderr


def test_a_copy_in_a_run_is_not_written_over_and_its_page_is(trace):
    run = trace.with_name("run")
    assert crosscut("import", trace, "-o", run).returncode == 0
    for part in ("run.json", "0-trace.json"):
        before = (run / part).read_bytes()
        assert crosscut("report", run, "-o", run / part).returncode == 2
        assert (run / part).read_bytes() == before
    for _ in range(2):
        assert crosscut("report", run, "-o", run / "report.html").returncode == 0


def test_the_longest_names_are_written_read_and_imported(trace):
    name = "n" * (LONGEST - 5) + ".json"
    done = crosscut("export", trace, "--to=chrome", "-o", name, cwd=trace.parent)
    assert done.returncode == 0, done.stderr
    for words in (["import", name, "-o", "run"], ["report", "run"],
                  ["baseline", "save", "kept", name], ["diff", "kept", name]):
        done = crosscut(*words, cwd=trace.parent)
        assert done.returncode == 0, done.stderr


def test_a_profile_is_read_by_a_link_and_exported_as_it_is(space):
    link, copy = space.with_name("link.xplane.pb"), space.with_name("copy.xplane.pb")
    link.symlink_to(space.name)
    assert crosscut("info", link).returncode == 0
    assert crosscut("export", link, "--to=xspace", "-o", copy).returncode == 0
    assert copy.read_bytes() == space.read_bytes()


def test_a_baseline_holds_the_run_and_not_the_link_to_it(trace):
    here = trace.parent
    assert crosscut("import", trace, "-o", here / "run").returncode == 0
    (here / "latest").symlink_to("run")
    for _ in range(2):
        done = crosscut("baseline", "save", "main", "latest", cwd=here)
        assert done.returncode == 0, done.stderr
    os.rename(here / "run", here / "elsewhere")
    assert crosscut("diff", "main", "elsewhere", cwd=here).returncode == 0
    assert os.listdir(here / ".crosscut/baselines") == ["main"]
    assert os.listdir(here / ".crosscut/baselines/main") == ["001-latest"]


def test_a_baseline_is_not_saved_within_its_run(trace):
    run = trace.with_name("run")
    assert crosscut("import", trace, "-o", run).returncode == 0
    done = crosscut("baseline", "save", "main", ".", cwd=run)
    assert done.returncode == 3 and "the baseline would lie in it" in done.stderr
    assert os.listdir(run / ".crosscut/baselines") == []


def test_the_bytes_of_an_output_are_its_owners_alone(trace):
    """Others' files lie ready under the names that the process's number would make."""
    output = trace.with_name("out.html.gz")
    output.touch(mode=0o600)
    shell = f'for n in $(seq $$ $(($$ + 9))); do echo theirs > "{output}.part-$n"; done; exec "$@"'
    done = subprocess.run(["sh", "-c", shell, "sh", CROSSCUT, "report", trace, "-o", output],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "one_of_a_kind" in gzip.decompress(output.read_bytes()).decode()
    assert output.stat().st_mode & 0o777 == 0o600
    others = list(pathlib.Path(trace.parent).glob("out.html.gz.part-*"))
    assert len(others) == 10 and {other.read_text() for other in others} == {"theirs\n"}
