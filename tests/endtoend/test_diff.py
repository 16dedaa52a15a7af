"""Runs compared: the recipe for CI as it stands in docs/ci.md, planted slow-downs, baselines."""

import html
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from runs import CROSSCUT, PACKAGE, ROOT

PYTHON = os.path.dirname(sys.executable)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE),
               "PATH": f"{CROSSCUT.parent}:{PYTHON}:{os.environ['PATH']}"}
LOOP = """
import sys, time, crosscut
def burn(n):
    for _ in range(n):
        pass
data, sleep, steps = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
seldom = float(sys.argv[4]) if len(sys.argv) > 4 else 0  # in every tenth step
for number in range(steps):
    crosscut.step()
    with crosscut.operation("data"):
        burn(data)
        if pause := sleep + (seldom if number % 10 == 9 else 0):  # sleep(0) yields the processor
            time.sleep(pause)
    with crosscut.operation("model"):
        burn(60000)
    with crosscut.operation("update"):
        burn(20000)
    with crosscut.operation("log"):
        burn(10000)
"""


def blocks(page, kind):
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"```{kind}\n(.*?)```", text, re.S)


def tables(done):
    return {table["table"]: table["columns"] for table in json.loads(done.stdout)["tables"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of a loop: plain ones, some whose data takes longer, always or seldom, a short one.

    No operation works for as long as a scheduler lets it while others wait (some 3 ms), so
    on a busy machine, too, some are left alone.
    """
    path = tmp_path_factory.mktemp("diff")
    (path / "loop.py").write_text(LOOP)
    for name, data, sleep, *steps in (("a1", 20000, 0, 150), ("b1", 20000, 0, 150),
                                     ("slow1", 20000, 0.02, 150), ("a2", 20000, 0, 150),
                                     ("slow2", 20000, 0.02, 150), ("busy", 80000, 0, 400),
                                     ("short", 20000, 0, 12), ("seldom", 20000, 0, 150, 0.2)):
        command = [CROSSCUT, "record", "-o", name, "--plan=full", "--", sys.executable, "loop.py",
                   *map(str, (data, sleep, *steps))]
        subprocess.run(command, cwd=path, env=ENVIRONMENT, check=True, capture_output=True,
                       timeout=600)
    return path


@pytest.fixture
def diff(folder):
    def call(*words, code=0):
        done = subprocess.run([CROSSCUT, "diff", *words], cwd=folder, env=ENVIRONMENT, text=True,
                              capture_output=True, timeout=300)
        assert done.returncode == code, done.stdout + done.stderr
        return done
    return call


@pytest.mark.parametrize("planted", ["slow1", "busy"])
def test_the_operation_that_became_slower_stands_out(diff, planted):
    found = tables(diff("a1", planted, "--format=json"))
    operations = found["diff_step_operations"]
    out = {name: own for name, own, stands in zip(*(operations[column] for column in (
        "operation", "own_ns", "stands_out"))) if stands}
    # More than any other: on a busy machine the pace may change within a run.
    assert max(out, key=lambda name: abs(out[name])) == "data"
    assert "data" in found["diff_verdict"]["headline"][0]


def test_the_line_that_changed_is_named_in_text_and_json(diff):
    words = " ".join(diff("a1", "busy").stdout.split())
    assert re.search(r"In data: (likely )?loop\.py:[45] burn, \+", words), words
    lines = tables(diff("a1", "busy", "--format=json"))["diff_step_lines"]
    # On a busy machine the mean of another operation may change by more.
    told = [(line, change) for operation, line, change in zip(*(lines[column] for column in (
        "operation", "line", "change_ns"))) if operation == "data"]
    assert told[0][0].endswith(" burn")
    shown = re.search(r"burn, \+([\d.]+) (ms|µs) of the mean step", words)
    ns = float(shown[1]) * {"ms": 1e6, "µs": 1e3}[shown[2]]
    assert any(abs(change - ns) < 0.001 * ns for _, change in told)


def test_it_adds_up_to_the_nanosecond(diff):
    found = tables(diff("a1", "slow1", "--format=json"))
    for column in ("a_ns", "b_ns", "change_ns", "change_corrected_ns", "change_undisturbed_ns"):
        step = sum(found["diff_steps"][column])
        assert sum(found["diff_step_operations"][column]) == step
        assert sum(found["diff_step_overlap"][column]) == step
    assert sum(found["diff_window"]["change_ns"]) == sum(found["diff_processes"]["change_ns"])
    back = tables(diff("slow1", "a1", "--format=json"))
    assert back["diff_steps"]["change_ns"] == [-ns for ns in found["diff_steps"]["change_ns"]]


def test_a_run_does_not_differ_from_itself(diff):
    found = tables(diff("a1", "a1", "--format=json", "--fail-above=0%"))
    assert found["diff_verdict"]["result"] == ["same"]
    assert set(found["diff_step_overlap"]["change_ns"]) == {0}


@pytest.mark.parametrize("form", ["chrome", "xspace"])
def test_a_run_compares_with_its_own_export(diff, folder, form):
    file = folder / f"a1.{form}"
    subprocess.run([CROSSCUT, "export", folder / "a1", f"--to={form}", "-o", file], check=True,
                   capture_output=True)
    compared = tables(diff("a1", file.name, "--format=json", code=0))
    assert compared["diff_verdict"]["result"] == ["same"]
    operations = compared["diff_step_operations"]
    names = {"data", "model", "update", "log"}
    assert names < set(operations["operation"])
    # Formats round times: a step of the one is that of the other to a thousandth.
    for name, a, b in zip(*(operations[column] for column in ("operation", "a_ns", "b_ns"))):
        assert name not in names or abs(a - b) < a / 1000, name


def test_what_only_some_steps_do_is_in_the_means(diff):
    text = " ".join(diff("a1", "seldom").stdout.split())
    assert re.search(r"Of what B has more beyond undisturbed steps .*, \+\S+ ms is in data\.", text)


def test_several_runs_a_side_fail_the_job(diff):
    sides = ("--base", "a1", "a2", "--", "slow1", "slow2")
    text = diff(*sides).stdout
    assert len(text.splitlines()) <= 40
    assert "slower" in text.splitlines()[0]
    diff("--fail-above=3%", *sides, code=1)
    diff("--fail-above=50000%", *sides)


def test_an_operation_that_one_side_lacks_fails_by_its_part_of_a_step(diff, tmp_path):
    for name, operations in (("a", {"model": 1000}), ("b", {"model": 1000, "log": 50})):
        length = sum(operations.values())
        events = []
        for step in range(60):
            at = step * length
            spans = {f"ProfilerStep#{step}": length, **operations}
            for span, us in spans.items():
                events.append({"ph": "X", "cat": "user_annotation", "name": span, "ts": at,
                               "dur": us, "pid": 1, "tid": 1, "args": {}})
                at += us if span in operations else 0
        (tmp_path / f"{name}.json").write_text(json.dumps({"traceEvents": events}))
    a, b = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    done = diff(a, b, "--fail-above=2%", code=1)
    assert re.search(r"log is new and takes more than --fail-above allows: \d\.\d % of a step",
                     done.stderr)
    assert "log (new): +50.00 µs" in done.stdout and "log (new) " in done.stdout
    diff(a, b, "--fail-above=6%")
    assert "log (gone) " in diff(b, a, "--fail-above=2%").stdout


def test_markdown_has_the_answer_first(diff, folder):
    diff("a1", "slow1", "-o", "out.md")
    lines = (folder / "out.md").read_text().splitlines()
    assert lines[0] == "# loop.py" and lines[2].startswith("**")
    assert any(line.startswith("| data |") for line in lines)


def test_the_page_has_the_answer_and_steps_of_both(diff, folder):
    diff("a1", "slow1", "-o", "out.html")
    page = (folder / "out.html").read_text()
    headline = tables(diff("a1", "slow1", "--format=json"))["diff_verdict"]["headline"][0]
    assert html.escape(headline) in page and len(page) < 5 << 20
    found = dict(re.findall(r'id="(data|data-other)">(.*?)</script>', page, re.S))
    for name, run in (("data", "a1"), ("data-other", "slow1")):
        data = json.loads(found[name])
        assert data["run"] == run and data["all_steps"] == 150
        assert data["timeline"]["details"]


def test_too_few_steps_are_not_compared(diff):
    done = diff("a1", "short", "--fail-above=5%", code=3)
    assert re.search(r"B has \d+ steps that can be compared and needs 20; record more steps",
                     done.stderr)
    assert "The steps cannot be compared" in diff("a1", "short").stdout


def test_runs_of_other_processors_are_not_compared(diff, folder):
    shutil.copytree(folder / "a1", folder / "elsewhere")
    path = folder / "elsewhere" / "run.json"
    run = json.loads(path.read_text())
    assert re.fullmatch(r".+, \d+ processors?", run["machine"])
    path.write_text(json.dumps({**run, "machine": "another, 1 processor"}))
    done = diff("a1", "elsewhere", "--fail-above=5%", code=3)
    assert "A ran on another processor" in done.stderr
    shutil.rmtree(folder / "elsewhere")


def test_a_baseline_is_kept_and_compared(diff, folder):
    def baseline(*words, code=0):
        done = subprocess.run([CROSSCUT, "baseline", *words], cwd=folder, env=ENVIRONMENT,
                              text=True, capture_output=True, timeout=300)
        assert done.returncode == code, done.stderr
        return done

    baseline("save", "main", "a1", "a2")
    assert re.fullmatch(r"main +\S+ \S+  2 runs  \d+ KiB\n", baseline("list").stdout)
    assert diff("baseline:main", "slow1").stdout.replace("baseline:main", "main") == \
        diff("main", "slow1").stdout
    assert "replaced" in baseline("save", "main", "b1").stderr
    assert "1 run " in baseline("list").stdout
    assert "did you mean main?" in diff("baseline:mian", "a1", code=2).stderr
    baseline("save", "../main", "a1", code=2)
    baseline("rm", "main")
    baseline("rm", "main", code=2)
    assert not list((folder / ".crosscut" / "baselines").iterdir())


def test_the_recipe_for_ci_finds_a_planted_slow_down(tmp_path):
    """The first block of docs/ci.md on an example of ours that searches more positions a step."""
    text = (ROOT / "examples" / "heavy_python.py").read_text()
    planted = text.replace("POSITIONS = 8 ", "POSITIONS = 120 ")
    assert planted != text
    for side, program in (("old", text), ("new", planted)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "train.py").write_text(program)
        shutil.copy(ROOT / "examples" / "stopwatch.py", tmp_path / side)
    recipe = blocks("ci.md", "sh")[0]
    assert "--fail-above=5%" in recipe
    done = subprocess.run(["sh", "-c", recipe], cwd=tmp_path, env=ENVIRONMENT, text=True,
                          capture_output=True, timeout=1200)
    assert done.returncode == 1, done.stdout + done.stderr
    comment = (tmp_path / "diff.md").read_text()
    assert "slower" in comment and "most of it in \\(no operation\\)" in comment
    assert "| torch" not in comment  # PyTorch is called as often as before


def test_the_snippet_for_github_has_the_recipe():
    """What is run above is what the workflow runs."""
    snippet = blocks("ci.md", "yaml")[0]
    lines = [line.strip() for line in snippet.splitlines()]
    recipe = blocks("ci.md", "sh")[0].splitlines()[1:]
    assert recipe
    for line in recipe:
        assert line.strip() in lines
