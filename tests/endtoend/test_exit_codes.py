"""The table of exit codes in docs/command.md: each verb, with what is good and what goes wrong."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from runs import CROSSCUT

pytest.importorskip("duckdb")

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "command.md"
EVENTS = [{"ph": "X", "name": name, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": at, "dur": 100}
          for at, name in enumerate("abc")]
# What a verb is told about an input, and how an output is named; a cluster is read as a run is.
READERS = {
    "report": (["{}"], "-o"), "open": (["{}", "-o", "page.html"], None),
    "table": (["{}", "functions"], "-o"), "table as parquet": (
        ["{}", "functions", "--format=parquet", "-o", "t.parquet"], "-o"),
    "info": (["{}"], None), "export": (["{}", "--to=chrome", "-o", "e.json"], "-o"),
    "import": (["{}", "-o", "imported"], None), "plot": (["{}", "-o", "plots"], None),
    "diff": (["{}", "good.json"], "-o"), "map": (["{}", "-o", "parts"], None),
    "reduce": (["{}", "-o", "reduced"], None), "baseline": (["save", "b", "{}"], None)}
TO_STDOUT = [["report", "{}"], ["info", "{}"], ["table", "{}", "{table}"],
             ["table", "{}", "{table}", "--format=json"],
             ["table", "{}", "{table}", "--format=parquet"]]


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    whole = json.dumps(EVENTS)
    for name, text in (("good", whole), ("other", whole), ("cut", whole[:-20]), ("bad", "none")):
        (tmp_path / f"{name}.json").write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    (folder / "good.json").write_text(json.dumps(EVENTS))
    environment = os.environ | {
        "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    assert run("reduce", folder / "good.json", "-o", folder / "made",
               env=environment).returncode == 0
    return folder / "made"


def run(*words, **more):
    done = subprocess.run([CROSSCUT, *words], stderr=subprocess.PIPE, text=True, timeout=600,
                          **{"stdout": subprocess.PIPE, **more})
    assert "Traceback" not in done.stderr and "Errno" not in done.stderr, done.stderr
    return done


def line_of(verb, name):
    return [verb.split()[0], *(word.replace("{}", name) for word in READERS[verb][0])]


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize(("name", "code"), [("other", 0), ("cut", 3), ("bad", 3), ("absent", 3)])
def test_an_input_decides_on_the_code(scene, verb, name, code):
    if verb == "plot":
        pytest.importorskip("matplotlib")
    done = run(*line_of(verb, f"{name}.json"))
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize("verb", READERS)
def test_a_wrong_command_line_does_nothing(scene, verb):
    before = sorted(os.listdir())
    for words in (["--no-such"], ["--limit=many"]):
        done = run(*line_of(verb, "other.json"), *words)
        assert done.returncode == 2 and done.stdout == "", done.stderr
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("verb", [verb for verb, (_, output) in READERS.items() if output])
def test_an_output_that_cannot_be_decides_on_the_code(scene, verb):
    words = line_of(verb, "other.json")
    words = words[:words.index("-o")] if "-o" in words else words
    content = (scene / "other.json").read_bytes()
    os.link("other.json", "link.json")
    for place, code in (("other.json", 2), ("link.json", 2), ("nowhere/x.json", 3),
                        ("/dev/full", 3), ("new.json", 0)):
        done = run(*words, "-o", place)
        assert done.returncode == code, (place, done.stderr)
    assert (scene / "other.json").read_bytes() == content


@pytest.mark.parametrize("verb", ["report", "map", "reduce"])
def test_what_can_be_read_of_several_inputs_is_written(scene, verb):
    done = run(verb, "absent.json", "good.json", "-o", "made")
    assert done.returncode == 3 and "absent.json: " in done.stderr, done.stderr
    assert os.path.exists("made"), "the other one can be read"


def test_without_a_python_the_verbs_that_need_one_are_wrong(scene):
    done = run("doctor", "--python", "/nowhere/python")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr


@pytest.mark.parametrize("words", TO_STDOUT, ids=" ".join)
@pytest.mark.parametrize("made", ["run", "cluster"])
def test_a_stdout_that_cannot_be_written_is_3(scene, cluster, words, made):
    source, table = (cluster, "ranks") if made == "cluster" else ("good.json", "functions")
    line = [word.format(source, table=table) for word in words]
    with open("/dev/full", "wb") as full:
        done = run(*line, stdout=full)
    assert (done.returncode, done.stderr) == (3, "crosscut: stdout: No space left on device\n")
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", CROSSCUT, *line],
                            stderr=subprocess.PIPE, text=True, timeout=600)
    assert (closed.returncode, closed.stderr) == (3, "crosscut: stdout: Bad file descriptor\n")
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        assert run(*line, stdout=pipe).returncode == 0


@pytest.mark.parametrize("verb", [["report"], ["info"], ["table", "ranks"],
                                  ["table", "ranks", "--format=parquet", "-o", "t.parquet"]],
                         ids=" ".join)
def test_a_cluster_that_is_damaged_is_3_and_an_unknown_table_2(scene, cluster, verb):
    for content in (b"", b"[]", b'{"version": 2}', b'{"version": 2, "job": "\xff"}'):
        os.makedirs("damaged", exist_ok=True)
        pathlib.Path("damaged/cluster.json").write_bytes(content)
        done = run(verb[0], "damaged", *verb[1:])
        assert done.returncode == 3 and "damaged: cluster.json" in done.stderr, done.stderr
    if verb[0] == "table":
        for source in ("good.json", cluster):
            done = run("table", source, "rnks", *verb[2:])
            assert done.returncode == 2 and not os.path.exists("t.parquet"), done.stderr


@pytest.mark.parametrize("words", [["doctor"], ["help"], ["map", "bad.json", "-o", "parts"]],
                         ids=" ".join)
def test_streams_that_cannot_be_written_change_no_other_code(scene, words):
    with open("/dev/full", "wb") as full:
        done = run(*words, stdout=full)
        silent = subprocess.run([CROSSCUT, *words], stdout=full, stderr=full, timeout=600)
    assert done.returncode == silent.returncode == 3
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&-', "sh", CROSSCUT, *words], timeout=600)
    assert closed.returncode == 3


@pytest.mark.parametrize("words", [["--memory=lots"], ["--memory=1KB"], ["--on=cloud"],
                                   ["--workers=0"]])
def test_reduce_maps_nothing_where_its_command_line_is_wrong(scene, words):
    done = run("reduce", "good.json", "-o", "reduced", *words)
    assert done.returncode == 2 and not os.path.exists("reduced"), done.stderr


@pytest.mark.parametrize("condition", ["step==1", "dur<1e400", "count<9e99", "count>0.5",
                                       "count=2", "count=3ms", "name<a", "name~e", "none=1", ""])
def test_a_cluster_takes_the_conditions_of_a_run(scene, cluster, condition):
    of_run, of_cluster = (run("table", source, "functions", "--where", condition, "--sort=-count")
                          for source in ("good.json", cluster))
    assert of_run.returncode == of_cluster.returncode, of_cluster.stderr
    assert of_run.stdout.count("\n") == of_cluster.stdout.count("\n")


def test_the_table_has_every_verb():
    table = PAGE.read_text(encoding="utf-8").partition("## Exit codes")[2]
    named = set(re.findall(r"`([a-z-]+)`", re.sub(r"`--.*?`", "", table)))
    verbs = set(re.findall(r"^  ([a-z-]+) ", run().stdout, re.MULTILINE))
    talking = {"record", "runs", "help", "completion", "crosscut"}
    assert verbs and verbs - talking <= named, verbs - named
