"""examples/rl/selfplay: several processes, in generations, that share a network or a device."""

import os
import random
import re
import subprocess
import sys

import pytest
from runs import ROOT, crosscut, record, table
from test_adds_up import check_sums

PROGRAM = [sys.executable, ROOT / "examples" / "rl" / "selfplay" / "selfplay.py"]
TINY = ["--generations", "2", "--workers", "2", "--games", "3", "--playouts", "8", "--updates",
        "10", "--evaluation-games", "2"]
sys.path.append(str(PROGRAM[1].parent))
WORKERS = {"selfplay worker 0", "selfplay worker 1"}
MAIN = "selfplay.py"


@pytest.fixture(scope="module", params=["process", "device"])
def recorded(request, tmp_path_factory):
    """(how the network is asked, run, stdout)"""
    run = tmp_path_factory.mktemp(request.param) / "run"
    result = record(run, [*PROGRAM, *TINY, "--inference", request.param], "--control-steps=0")
    assert result.returncode == 0, result.stderr
    return request.param, run, result.stdout


def named(run):
    """The program's processes by name; what else it has is multiprocessing's own."""
    return {row["name"]: row for row in table(run, "processes")
            if "resource_tracker" not in row["name"]}


def of(run, name, key):
    """The rows of a table by process name."""
    names = {row["process"]: row["name"] for row in table(run, "processes")}
    rows = {}
    for row in table(run, name):
        rows.setdefault(names.get(row["process"], row["process"]), []).append(row[key])
    return rows


def test_it_does_the_same_without_crosscut(recorded):
    inference, _, printed = recorded
    if inference == "process":
        pytest.skip("who asks together differs from run to run, and so may the last bits")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    alone = subprocess.run([*map(str, PROGRAM), *TINY, "--inference", inference], env=env,
                           capture_output=True, text=True, timeout=1200)
    assert (alone.returncode, alone.stdout) == (0, printed), alone.stderr
    assert len(printed.splitlines()) == 2


def test_each_process_is_complete_named_and_has_its_parent(recorded):
    inference, run, _ = recorded
    processes = named(run)
    wanted = WORKERS | {MAIN, "trainer", "evaluation"}
    assert set(processes) == wanted | ({"inference"} if inference == "process" else set())
    main = processes.pop(MAIN)
    assert {row["parent"] for row in processes.values()} == {main["process"]}
    lives = check_sums(run)
    assert lives and all(row["complete"] for row in lives.values())


def test_phases_are_the_generations(recorded):
    inference, run, _ = recorded
    phases = {name: [phase for phase in phases if phase]
              for name, phases in of(run, "phases", "phase").items()}
    assert phases[MAIN] == ["start", *["selfplay", "train", "evaluate"] * 2, "end"]
    for name in named(run):
        if name != MAIN:
            assert phases[name] == ["start", "generation 0", "generation 1"], name


def test_workers_search_and_the_trainer_learns(recorded):
    inference, run, _ = recorded
    names = of(run, "operations", "operation")
    counts = {name: dict(zip(names[name], counts))
              for name, counts in of(run, "operations", "count").items()}
    kinds = of(run, "steps", "kind")
    for worker in WORKERS:
        assert counts[worker]["search"] == kinds[worker].count("move") >= 2 * 3 * 7
        assert counts[worker]["inference"] > counts[worker]["search"]
    assert counts["trainer"]["replay"] == kinds["trainer"].count("update") == 2 * 10
    if inference == "process":
        asked = sum(counts[worker]["inference"] for worker in WORKERS)
        assert asked / 2 <= counts["inference"]["inference"] <= asked


def test_the_machine_wide_table_tells_who_worked_at_once(recorded):
    _, run, _ = recorded
    processes = table(run, "processes")
    rows = table(run, "concurrency")
    begin = min(row["start_ns"] for row in processes)
    end = max(row["start_ns"] + row["wall_ns"] for row in processes)
    assert sum(row["ns"] for row in rows) == end - begin
    workers = {named(run)[worker]["process"] for worker in WORKERS}
    assert any(workers <= set(row["host_processes"].split("+")) for row in rows)


def test_a_device_that_is_sampled_looks_busier_than_it_is(recorded):
    """Minigo's finding: short kernels of several processes fill every sample."""
    inference, run, _ = recorded
    rows = table(run, "device_utilization")
    if inference == "process":
        assert rows == []
        return
    names = of(run, "device_utilization", "sampled_percent")
    assert set(names) == WORKERS | {"evaluation", "(all)"}
    for row in rows:
        assert float(row["sampled_percent"]) > 2 * float(row["busy_percent"]) > 0, row
    busy = {row["process"]: row["busy_ns"] for row in rows}
    together = busy.pop("(all)")
    assert max(busy.values()) < together <= sum(busy.values())
    asked = sum(row["count"] for row in table(run, "operations")
                if row["operation"] == "inference")
    (kernels,) = [row["count"] for row in table(run, "functions") if row["name"] == "linear"]
    assert kernels == 3 * asked, "three layers for each position"


def test_the_page_draws_each_process_with_its_strips(recorded, tmp_path):
    _, run, _ = recorded
    page = tmp_path / "page.html"
    crosscut("report", run, "--format=html", "-o", page)
    section = page.read_text().split('<section id="phases"')[1].split("</section>")[0]
    for name in named(run):
        assert name in section
    cpu, memory = {}, {}
    for row in table(run, "utilization"):
        percent = 100 * row["cpu_ns"] / (row["end_ns"] - row["begin_ns"])
        cpu[row["process"]] = max(cpu.get(row["process"], 0), percent)
        memory[row["process"]] = max(memory.get(row["process"], 0), row["resident_bytes"] or 0)
    assert cpu.keys() >= {row["process"] for row in named(run).values()}
    told = re.findall(r"<title>(CPU|memory): at most ([\d,]+) ", section)
    assert sorted(told) == sorted([*(("CPU", f"{most:,.0f}") for most in cpu.values()),
                                   *(("memory", f"{most:,}") for most in memory.values())])


def test_four_in_any_line_win():
    from game import COLUMNS, ROWS, Position

    draw = random.Random(1)
    for _ in range(200):
        position, stones = Position(), {}
        while position.legal() and not position.lost():
            column = draw.choice(position.legal())
            row = sum(at[0] == column for at in stones)
            mover = stones[column, row] = len(stones) % 2
            position = position.play(column)
            won = any(all(stones.get((x + i * dx, y + i * dy)) == mover for i in range(4))
                      for x in range(COLUMNS) for y in range(ROWS)
                      for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)))
            assert position.lost() == won, stones
        assert won or len(stones) == COLUMNS * ROWS


def test_a_process_that_fails_ends_the_program_by_name():
    env = {**os.environ, "OCL_ICD_VENDORS": "/nowhere", "OPENCL_LAYERS": ""}
    result = subprocess.run([*map(str, PROGRAM), *TINY, "--inference", "device"], env=env,
                            capture_output=True, text=True, timeout=1200)
    assert result.returncode == 1
    assert "selfplay.py: selfplay worker 0 ended with 1" in result.stderr


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
