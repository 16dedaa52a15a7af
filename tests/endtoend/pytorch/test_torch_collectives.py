"""Who waits for whom in collectives: ranks by gloo, one of which comes late, beside torch.profiler;
process groups; what the backend of a group does not say."""

import json
import statistics

import pytest
from runs import record, table

LATE_S = 0.03
STEPS = 60
DDP = f"""
import os, sys, time
import torch, torch.distributed as dist
from torch.profiler import profile
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
pairs = [dist.new_group([first, first + 1]) for first in range(0, size, 2)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
with profile() as profiler:
    for _ in range({STEPS}):
        if rank == 1:
            time.sleep({LATE_S})  # HERE
        model(torch.randn(8, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(torch.ones(10), group=pairs[rank // 2])
profiler.export_chrome_trace(f"{{sys.argv[1]}}/{{rank}}.json")
dist.destroy_process_group()
"""


def record_ranks(folder, text, *flags, ranks=2, arguments=()):
    """Records `text` on that many ranks, started by torchrun; returns the run."""
    script = folder / "ddp.py"
    script.write_text(text)
    run = folder / "run"
    done = record(run, ["python", "-m", "torch.distributed.run", "--standalone",
                        f"--nproc-per-node={ranks}", script, *arguments], *flags)
    assert done.returncode == 0, done.stderr
    return run


def long_ones(lengths):
    """Of those that wait: the others are over before half the late rank's sleep is."""
    return [ns for ns in lengths if ns > LATE_S * 0.5e9]


@pytest.mark.parametrize("plan", ["full", "balanced", "light"])
def test_a_late_rank_is_told_as_torch_profiler_has_it(tmp_path, plan):
    flags = [f"--plan={plan}", *(["--control-steps=0"] if plan == "full" else [])]
    run = record_ranks(tmp_path, DDP, *flags, arguments=[tmp_path])
    calls = table(run, "collective_calls")
    by_rank = {rank: [row for row in calls if row["rank"] == rank] for rank in (0, 1)}
    for rank, rows in by_rank.items():
        events = json.loads((tmp_path / f"{rank}.json").read_text())["traceEvents"]
        theirs = [event["dur"] * 1000 for event in events if event["name"] == "gloo:all_reduce"]
        ours = [row["ns"] for row in rows if row["name"] == "gloo:all_reduce"]
        if plan == "full":
            assert len(ours) >= len(theirs) >= 2 * STEPS - 2
        if rank == 0:
            assert len(long_ones(ours)) >= STEPS / 3
            assert statistics.median(long_ones(ours)) == pytest.approx(
                statistics.median(long_ones(theirs)), rel=0.05)
        assert [row["seq"] for row in rows if row["group"] == 0] == sorted(
            {row["seq"] for row in rows if row["group"] == 0})
    of_all = {row["process"]: row for row in table(run, "stragglers") if row["group"] == 0}
    waiting, late = sorted(of_all.values(), key=lambda row: row["made_wait_ns"])
    assert late["process"] == by_rank[1][0]["process"]
    assert late["made_wait_ns"] == waiting["waited_ns"] > 0.8 * LATE_S * 1e9 * (STEPS / 3)
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
    assert slept["ns"] > 0.5 * sum(row["ns"] for row in work)


def test_groups_and_ordinals_hold_through_control_steps(tmp_path):
    run = record_ranks(tmp_path, DDP, "--plan=balanced", "--control-steps=25",
                       arguments=[tmp_path])
    calls = [row for row in table(run, "collective_calls") if row["group"] == 1]
    seen = {rank: [row["seq"] for row in calls if row["rank"] == rank] for rank in (0, 1)}
    assert seen[0] == seen[1]  # the same steps are control steps in both
    assert len(seen[0]) < STEPS and seen[0][-1] >= STEPS - 10
    assert {row["bytes"] for row in calls} == {40}
    assert not table(run, "unmatched_collectives")


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
    assert {row["reason"] for row in table(run, "unmatched_collectives")} <= {
        "between two ranks", "not at the same time"}  # of the latter the one that was refused
