"""Who waits for whom in collectives: ranks by gloo, one of which comes late, beside torch.profiler;
process groups; what the backend of a group does not say."""

import bisect
import json
import statistics

import pytest
from runs import record, table

LATE_S = 0.06
STEPS = 60
DDP = f"""
import json, os, sys, time
import torch, torch.distributed as dist
from torch.profiler import profile
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
pairs = [dist.new_group([first, first + 1]) for first in range(0, size, 2)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
slept = []
with profile() as profiler:
    for _ in range({STEPS}):
        begin = time.perf_counter_ns()
        if rank == 1:
            time.sleep({LATE_S})  # HERE
        slept.append(time.perf_counter_ns() - begin)
        model(torch.randn(8, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(torch.ones(10), group=pairs[rank // 2])
profiler.export_chrome_trace(f"{{sys.argv[1]}}/{{rank}}.json")
with open(f"{{sys.argv[1]}}/slept{{rank}}.json", "w") as file:
    json.dump(slept, file)
dist.destroy_process_group()
"""


def record_ranks(folder, text, *flags, ranks=2, arguments=(), env=None):
    """Records `text` on that many ranks, started by torchrun; returns the run."""
    script = folder / "ddp.py"
    script.write_text(text)
    run = folder / "run"
    done = record(run, ["python", "-m", "torch.distributed.run", "--standalone",
                        f"--nproc-per-node={ranks}", script, *arguments], *flags, env=env or {})
    assert done.returncode == 0, done.stderr
    return run


def of_torch_profiler(folder, rank):
    """(begin, duration) in ns of each all_reduce of the loop: of the gradients, of the pair, ..."""
    events = json.loads((folder / f"{rank}.json").read_text())["traceEvents"]
    found = sorted((event["ts"] * 1000, event["dur"] * 1000) for event in events
                   if event["name"] == "gloo:all_reduce")
    assert len(found) == 2 * STEPS
    return found


def numbered(ours, theirs):
    """Our rows by the number of theirs that begins with them; the first of either are the same, and
    groups take turns."""
    apart = ours[0]["begin_ns"] - theirs[0][0]
    far = {id(row): [abs(begin + apart - row["begin_ns"]) for begin, _ in theirs] for row in ours}
    out = {min(range(row["group"], len(theirs), 2), key=far[id(row)].__getitem__): row
           for row in ours}
    assert len(out) == len(ours)
    assert statistics.median(far[id(row)][i] for i, row in out.items()) < 1_000_000
    return out


@pytest.mark.parametrize("plan", ["full", "balanced", "light"])
def test_a_late_rank_is_told_as_torch_profiler_has_it(tmp_path, plan):
    flags = [f"--plan={plan}", *(["--control-steps=0"] if plan == "full" else [])]
    run = record_ranks(tmp_path, DDP, *flags, arguments=[tmp_path])
    calls = table(run, "collective_calls")
    by_rank = {rank: [row for row in calls if row["rank"] == rank] for rank in (0, 1)}
    begins = [[at for at, _ in of_torch_profiler(tmp_path, rank)] for rank in (0, 1)]
    for rank, rows in by_rank.items():
        theirs = of_torch_profiler(tmp_path, rank)
        ours = numbered([row for row in rows if row["name"] == "gloo:all_reduce"], theirs)
        process = rows[0]["process"]
        controls = [row["control"] for row in table(run, "steps") if row["process"] == process]
        # Two of each step but of control steps, at whose edges one more may be seen.
        switches = sum(a != b for a, b in zip(controls, controls[1:]))
        assert len(controls) == STEPS
        assert 0 <= len(ours) - 2 * (STEPS - sum(controls)) <= switches
        assert sum(row["ns"] for row in ours.values()) == pytest.approx(
            sum(theirs[i][1] for i in ours), rel=0.05)
        # Who comes first waits for the other: by their begins, on one clock.
        for group in (0, 1):
            waits = [max(0, begins[1 - rank][i] - begins[rank][i]) for i in ours if i % 2 == group]
            assert sum(row["waited_ns"] for i, row in ours.items() if i % 2 == group) == (
                pytest.approx(sum(waits), rel=0.05, abs=1e6 * len(ours)))
        assert [row["seq"] for row in rows if row["group"] == 0] == sorted(
            {row["seq"] for row in rows if row["group"] == 0})
    of_all = {row["process"]: row for row in table(run, "stragglers") if row["group"] == 0}
    waiting, late = sorted(of_all.values(), key=lambda row: row["made_wait_ns"])
    assert late["process"] == by_rank[1][0]["process"]
    assert late["made_wait_ns"] == waiting["waited_ns"] == sum(
        row["waited_ns"] for row in by_rank[0] if row["group"] == 0)
    assert waiting["collectives"] == sum(row["group"] == 0 for row in by_rank[0])
    assert late["unmatched"] == waiting["unmatched"] == 0
    first = {row["process"]: row for row in reversed(table(run, "verdict"))}
    told = first[waiting["process"]]
    assert told["cause"] == "other-rank" and "waiting for rank 1" in told["headline"]
    line = DDP.splitlines().index(f"            time.sleep({LATE_S})  # HERE") + 1
    assert told["blame"].startswith(f"ddp.py:{line} ")
    # While the late rank sleeps, the library's threads rest: its time is idle, not unknown.
    work = [row for row in table(run, "part_work")
            if row["process"] == late["process"] and row["part"] == "steps"]
    (slept,) = [row for row in work if row["work"].startswith(f"ddp.py:{line} ")
                and row["layers"] == "idle"]
    own = json.loads((tmp_path / "slept1.json").read_text())
    steps = [row for row in table(run, "steps") if row["process"] == late["process"]]
    seen = sum(ns for ns, step in zip(own, steps) if not step["control"])
    assert 0.9 * seen < slept["ns"] < 1.02 * seen


def test_groups_and_ordinals_hold_through_control_steps(tmp_path):
    run = record_ranks(tmp_path, DDP, "--plan=balanced", "--control-steps=25",
                       arguments=[tmp_path])
    calls = [row for row in table(run, "collective_calls") if row["group"] == 1]
    seen = {rank: [row["seq"] for row in calls if row["rank"] == rank] for rank in (0, 1)}
    assert seen[0] == seen[1]  # the same steps are control steps in both
    assert len(seen[0]) < STEPS and seen[0][-1] >= STEPS - 10
    assert {row["bytes"] for row in calls} == {40}
    assert not table(run, "unmatched_collectives")


OVER_STEPS = """
import time
import crosscut, torch, torch.distributed as dist
dist.init_process_group("gloo")
work = None
for _ in range(STEPS):
    crosscut.step()
    if work is not None:
        work.wait()
    if dist.get_rank() == 1:
        time.sleep(0.01)
    work = dist.all_reduce(torch.ones(10), async_op=True)
crosscut.step_end()
work.wait()
time.sleep(0.5)
dist.destroy_process_group()
"""
LAST_IS_CONTROL = 40  # steps, by the seed


def test_a_collective_that_ends_in_a_control_step_ends_there_even_in_the_last(tmp_path):
    run = record_ranks(tmp_path, OVER_STEPS.replace("STEPS", str(LAST_IS_CONTROL)),
                       "--plan=full", "--control-steps=30", env={"CROSSCUT_SEED": "5"})
    (process,) = [row["process"] for row in table(run, "processes") if row["name"] == "rank 0"]
    steps = [row for row in table(run, "steps") if row["process"] == process]
    levels = [row["level"] for row in steps]
    assert levels[-1] == 0 < levels[-2]
    begins = [row["begin_ns"] for row in steps]
    seen = [row for row in table(run, "spans")
            if row["process"] == process and row["name"] == "gloo:all_reduce"]
    for row in seen:
        step = bisect.bisect_right(begins, row["begin_ns"]) - 1
        assert row["end_ns"] < steps[step + 1]["end_ns"]
    # The library's thread begins each at the end of its step or behind it: where one of the two is
    # a control step, either is right.
    both = [(a > 0, b > 0) for a, b in zip(levels, levels[1:])]
    assert sum(a and b for a, b in both) <= len(seen) <= sum(a or b for a, b in both)


MIXED = """
import os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
x = torch.ones(1000)
dist.all_reduce(x)
if rank == 0:
    dist.send(x, 1)
else:
    dist.recv(x, 0)
dist.broadcast(x, 0)
parts = [torch.empty(1000) for _ in range(2)]
dist.all_gather(parts, x)
dist.barrier()
work = dist.all_reduce(x, async_op=True)
work.wait()
try:
    dist.all_reduce(x, op=dist.ReduceOp.BAND)  # not of floats
except RuntimeError as error:
    print("refused", flush=True)
dist.destroy_process_group()
"""


def test_kinds_of_collectives_state_their_size_and_peer(tmp_path):
    run = record_ranks(tmp_path, MIXED)
    rows = [row for row in table(run, "collective_calls") if row["rank"] == 0]
    told = [(row["name"], row["seq"], row["bytes"], row["peer"]) for row in rows]
    assert told[:6] == [("gloo:all_reduce", 0, 4000, ""), ("gloo:send", "", 4000, 1),
                        ("gloo:broadcast", 1, 4000, ""), ("gloo:all_gather", 2, 4000, ""),
                        ("gloo:barrier", 3, 0, ""), ("gloo:all_reduce", 4, 4000, "")]
    unmatched = {row["reason"]: (row["name"], row["count"])
                 for row in table(run, "unmatched_collectives")
                 if row["process"] == rows[0]["process"]}
    # What was refused may look as if it were not at the same time.
    assert unmatched.pop("not at the same time", ("gloo:all_reduce", 1)) == ("gloo:all_reduce", 1)
    assert unmatched == {"between two ranks": ("gloo:send", 1)}
