"""Step plans: one run gives every table, and says from how many steps."""

import bisect
import collections
import json
import os
import re
import subprocess
import sys

import pytest
from runs import CROSSCUT, PACKAGE, crosscut, record, record_script, table

LOOP = """
import sys, torch, crosscut
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, foreach=False)
x, y = torch.randn(8, 16), torch.randn(8, 4)
for i in range(STEPS):
    evaluation = i % 10 == 9
    crosscut.step("evaluation" if evaluation else None)
    if evaluation:
        with torch.no_grad():
            for _ in range(6):
                model(x)
        continue
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


def loop(steps):
    return LOOP.replace("STEPS", str(steps))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The loop under the balanced plan and recorded completely."""
    folder = tmp_path_factory.mktemp("plans")
    for plan in ("balanced", "full"):
        result = record_script(folder / plan, loop(1000), f"--plan={plan}", "--sources=pytorch",
                               env={"CROSSCUT_SEED": "7"})
        assert result.returncode == 0, result.stderr
    return folder


def per_step(run, kind):
    """Operator -> how often it runs in a step of that kind."""
    return {row["name"]: float(row["count_per_step"]) for row in table(run, "step_operators")
            if row["kind"].split(",")[0] == kind and row["name"].startswith("aten::")}


def test_counts_per_step_are_those_of_a_complete_recording(runs):
    for kind in ("step", "evaluation"):
        assert per_step(runs / "balanced", kind) == per_step(runs / "full", kind)
    assert per_step(runs / "balanced", "evaluation")["aten::addmm"] == 12
    assert per_step(runs / "balanced", "step")["aten::addmm"] == 2


def test_operators_come_from_a_few_steps_and_say_so(runs):
    # Where a neighbour slows the machine for a while, those steps are a kind of their own.
    rows = [row for row in table(runs / "balanced", "step_operators")
            if re.fullmatch(r"step(, (longer|shorter).*)?", row["kind"])
            and row["name"] == "aten::addmm"]
    assert {row["level"] for row in rows} == {"operators"}
    assert 20 < sum(row["steps"] for row in rows) < 200
    assert sum(row["of_steps"] for row in rows) > 600
    most = max(rows, key=lambda row: row["of_steps"])
    assert most["low_ns"] <= most["per_step_ns"] <= most["high_ns"]
    report = json.loads(crosscut("report", runs / "balanced", "--format=json"))
    notes = {t["table"]: t["notes"] for t in report["tables"]}
    for name in ("functions", "step_operators"):
        assert len(notes[name]) == 1 and "steps, operators come from" in notes[name][0]


def test_every_level_has_its_steps_and_its_spans(runs, tmp_path):
    steps = table(runs / "balanced", "steps")
    levels = collections.Counter(row["level"] for row in steps)
    assert set(levels) == {0, 1, 2, 3} and levels[1] > 500
    assert all(row["control"] == (row["level"] == 0) for row in steps)
    names = {row["name"] for row in table(runs / "balanced", "functions")}
    assert "aten::addmm" in names and "torch.nn.functional.linear" in names
    crosscut("export", runs / "balanced", "--to=chrome", "-o", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    marks = sorted((e["ts"], e["ts"] + e["dur"], e["args"]["level"]) for e in events
                   if e["name"].startswith("ProfilerStep#"))
    assert len(marks) == len(steps) and len({level for *_, level in marks}) == 4
    inside = [sum(b <= e["ts"] < until and level == "boundary" for b, until, level in marks)
              for e in events if e.get("cat") == "cpu_op" and e["name"].startswith("aten::addmm")]
    assert inside and not any(inside)


def test_everything_adds_up_at_mixed_levels(runs):
    process = table(runs / "balanced", "processes")[0]
    for name in ("overlap", "layers"):
        assert sum(row["ns"] for row in table(runs / "balanced", name)) == process["wall_ns"]
    control = sum(row["wall_ns"] for row in table(runs / "balanced", "steps") if row["control"])
    layers = table(runs / "balanced", "layers")
    assert sum(row["ns"] for row in layers if row["layers"] == "control") == control


def test_each_level_is_compared_with_control_steps(runs):
    rows = {row["level"]: row for row in table(runs / "balanced", "overhead_levels")}
    assert {"control", "boundary", "operators", "first after a switch", "all"} <= set(rows)
    assert rows["all"]["steps"] > 900
    for row in rows.values():
        assert float(row["inflation_low"]) <= float(row["inflation"]) <= float(
            row["inflation_high"])


MARKS = """
import crosscut, torch
from torch.profiler import record_function
torch.set_num_threads(1)
x = torch.ones(4)
for _ in range(3000):
    crosscut.step()
    with crosscut.operation("act"):
        with record_function("augment"):
            for _ in range(20):
                x + 1
    crosscut.instant("acted")
    for _ in range(20):
        torch.relu(x)
crosscut.step_end()
"""


def test_marks_are_counted_exactly_where_the_budget_leaves_steps_out(tmp_path):
    run = tmp_path / "run"
    result = record_script(run, MARKS, "--plan=balanced", "--budget=2", env={"CROSSCUT_SEED": "7"})
    assert result.returncode == 0, result.stderr
    levels = collections.Counter(row["level"] for row in table(run, "steps"))
    assert sum(levels.values()) == 3000 and levels[4] > 300, levels
    assert 30 < levels[0] < 400, levels
    counts = {row["operation"]: row["count"] for row in table(run, "operations")}
    assert counts["act"] == counts["augment"] == 3000 - levels[0]
    crosscut("export", run, "--to=chrome", "-o", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["name"] == "acted" for event in events) == 3000 - levels[0]
    # The boundary is not seen in them.
    left_out = sorted((row["begin_ns"], row["end_ns"]) for row in table(run, "steps")
                      if row["level"] == 4)
    relu = sorted(row["begin_ns"] for row in table(run, "spans") if row["name"] == "torch.relu")
    at = [bisect.bisect(left_out, (begin, sys.maxsize)) - 1 for begin in relu]
    assert relu and not [b for b, i in zip(relu, at) if i >= 0 and b < left_out[i][1]]
    [summary] = table(run, "step_summary")
    assert summary["marks_steps"] == levels[4] and summary["control_steps"] == levels[0]
    parts = {row["part"]: row for row in table(run, "window_parts")}
    assert parts["left-out steps"]["count"] == levels[4]
    process = table(run, "processes")[0]
    assert sum(row["wall_ns"] for row in parts.values()) == process["wall_ns"]
    assert sum(row["ns"] for row in table(run, "overlap")) == process["wall_ns"]
    report = json.loads(crosscut("report", run, "--format=json"))
    notes = {t["table"]: t["notes"] for t in report["tables"]}
    assert f"{levels[4]} were left out by the budget" in notes["operations"][0]


def test_the_timeline_marks_levels(runs, tmp_path):
    page = tmp_path / "report.html"
    crosscut("report", runs / "balanced", "--format=html", "-o", page)
    text = page.read_text()
    data = json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
    assert set(data["steps"]["level"]) == {0, 1, 2, 3}


def test_a_short_program_is_recorded_whole(tmp_path):
    run = tmp_path / "run"
    text = loop(6).replace('crosscut.step("evaluation" if evaluation else None)', "pass")
    assert record_script(run, text, "--plan=balanced").returncode == 0
    levels = [row["level"] for row in sorted(table(run, "steps"), key=lambda row: row["step"])]
    assert levels[:6] == [3] * 6
    assert per_step(run, "step")["aten::addmm"] == 2


def test_processes_of_one_run_switch_alike(tmp_path):
    run = tmp_path / "run"
    script = """
import crosscut, multiprocessing
def work():
    for _ in range(300):
        crosscut.step()
if __name__ == "__main__":
    children = [multiprocessing.get_context("spawn").Process(target=work) for _ in range(2)]
    [c.start() for c in children]
    work()
    [c.join() for c in children]
"""
    assert record_script(run, script, "--plan=operators=10,everything=5").returncode == 0
    levels = collections.defaultdict(list)
    for row in table(run, "steps"):
        levels[row["process"]].append((row["step"], row["level"]))
    assert len(levels) == 3
    first, *others = (sorted(steps) for steps in levels.values())
    assert len({level for _, level in first}) == 4
    assert others == [first, first]


@pytest.mark.parametrize("plan, named", [
    ("heavy", '"heavy" is neither light, balanced or full nor a level'),
    ("operators=60,everything=60", "more than 100 per cent"),
])
def test_a_plan_that_cannot_be_is_refused_before_the_program_starts(tmp_path, plan, named):
    result = record(tmp_path / "run", [sys.executable, "-c", "print('ran')"], f"--plan={plan}")
    assert result.returncode == 2 and named in result.stderr
    assert result.stdout == "" and not (tmp_path / "run").exists()


@pytest.mark.parametrize("setting", ["MEMORY=lots", "CONTROL_STEPS=120", "SEED=x", "KEEP=long",
                                     "BUDGET=much", "PYTHON=of", "SAMPLE_RATE=fast"])
def test_a_setting_that_cannot_be_is_refused(tmp_path, setting):
    name, value = setting.split("=")
    env = {f"CROSSCUT_{name}": value, "CROSSCUT_PLAN": ""}
    result = record(tmp_path / "run", [sys.executable, "-c", "print('done')"], env=env)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert value in result.stderr and not (tmp_path / "run").exists()
    if name in ("PYTHON", "SAMPLE_RATE"):  # of Python's part, which tells in the table `sources`
        return
    program = f"import crosscut; print(crosscut.start({str(tmp_path / 'own')!r}), crosscut.error())"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": str(PACKAGE), **env})
    assert result.stdout.startswith("False ") and value in result.stdout, result.stderr


def test_settings_of_the_environment_are_defaults_of_options(tmp_path):
    env = {"CROSSCUT_MEMORY": "128", "CROSSCUT_CONTROL_STEPS": "50", "CROSSCUT_SEED": "99"}
    for number, (flags, memory) in enumerate((((), 128), (("--memory=32",), 32))):
        run = tmp_path / str(number)
        result = record(run, [sys.executable, "-c", "print('done')"], *flags, env=env)
        assert result.stdout == "done\n", result.stderr
        crosscut("export", run, "--to=chrome", "-o", tmp_path / "out.json")
        facts = (tmp_path / "out.json").read_text()
        assert f'"memory_bytes": "{memory << 20}"' in facts
        assert '"control_percent": "50"' in facts and '"seed": "99"' in facts


def test_a_recording_inside_another_has_its_own_settings(tmp_path):
    inner = tmp_path / "inner"
    command = [CROSSCUT, "record", "-o", inner, "--", sys.executable, "-c", "print('done')"]
    result = record(tmp_path / "outer", list(map(str, command)), "--keep=5", "--memory=32")
    assert result.stdout == "done\n", result.stderr
    crosscut("export", inner, "--to=chrome", "-o", tmp_path / "out.json")
    facts = (tmp_path / "out.json").read_text()
    assert '"policy": "drop_newest"' in facts and f'"memory_bytes": "{64 << 20}"' in facts


def test_the_environment_and_the_api_take_plans_too(tmp_path):
    script = """
import crosscut, sys
for plan in "heavy", "operators=200":
    assert not crosscut.start(sys.argv[1], plan=plan)
    assert "step plan " + plan in crosscut.error()
assert crosscut.start(sys.argv[1], plan="control=0,everything=0"), crosscut.error()
for _ in range(30):
    crosscut.step()
crosscut.stop()
"""
    program = tmp_path / "program.py"
    program.write_text(script)
    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    subprocess.run([sys.executable, program, tmp_path / "api"], env=env, check=True, timeout=60)
    assert {row["level"] for row in table(tmp_path / "api", "steps")} == {1}
    assert record_script(tmp_path / "run", loop(40),
                         env={"CROSSCUT_PLAN": "control=0,operators=100"}).returncode == 0
    assert {row["level"] for row in table(tmp_path / "run", "steps")} == {2}


SPIN = """
import os, time, crosscut
os.sched_setaffinity(0, {PROCESSOR})
def spin():
    for _ in range(4000): pass
def main():
    for _ in range(6000):
        crosscut.step()
        spin()
main()
"""


def test_the_line_of_a_steps_edge_has_no_time_that_others_took(tmp_path):
    # The budget reads the processor's clock there, and the kernel then sees that a turn is over.
    processor = max(os.sched_getaffinity(0))
    busy = subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, "
                             f"{{{processor}}})\nwhile True: pass"])
    try:
        result = record_script(tmp_path / "run", SPIN.replace("PROCESSOR", str(processor)))
    finally:
        busy.kill()
        busy.wait()
    assert result.returncode == 0, result.stderr
    assert "out of order" not in crosscut("report", tmp_path / "run")
    rows = [row for row in table(tmp_path / "run", "part_work") if row["part"] == "steps"]
    of_edge = sum(row["ns"] for row in rows
                  if row["layers"] != "overhead" and row["work"].endswith(" main"))
    assert of_edge < 0.25 * sum(row["ns"] for row in rows)
