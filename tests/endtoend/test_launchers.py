"""Ranks are told whatever starts them: mpirun with mpi4py, torchrun with accelerate, Slurm."""

import json
import os
import re
import shutil

import pytest
from runs import record, table
from test_rl import python  # noqa: F401  (a fixture: .venv-rl)

def words_of(printed):
    """What ranks wrote at once: words of one can stand between another's, without a space."""
    return re.findall(r"rank|of|\d\.\d|\d", printed)


MPI = """
import json, sys, time
import crosscut
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
ours, sums, begins, ends = np.ones(1000), np.empty(1000), [], []
for step in range(20):
    crosscut.step()
    if world.Get_rank() == 1:
        time.sleep(0.1)  # HERE
    begins.append(time.perf_counter_ns())
    world.Allreduce(ours, sums)
    ends.append(time.perf_counter_ns())
with open(f"{sys.argv[1]}/calls{world.Get_rank()}", "w") as file:
    json.dump([begins, ends], file)
print("rank", world.Get_rank(), sums[0])
"""


def named(run):
    return {row["name"]: row for row in table(run, "processes")}


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not there")
def test_ranks_of_mpirun_wait_for_the_late_one(python, tmp_path):  # noqa: F811
    script = tmp_path / "mpi.py"
    script.write_text(MPI)
    run = tmp_path / "run"
    done = record(run, ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", python,
                        script, tmp_path], "--control-steps=0")
    assert done.returncode == 0, done.stderr
    assert sorted(words_of(done.stdout)) == ["0", "1", "2.0", "2.0", "rank", "rank"]
    processes = named(run)
    assert {"rank 0", "rank 1"} <= processes.keys()
    assert all(row["complete"] == 1 for row in processes.values())
    waits = {row["process"]: row for row in table(run, "stragglers")}
    late, waiting = (waits[processes[f"rank {n}"]["process"]] for n in (1, 0))
    assert late["collectives"] == 20 and late["unmatched"] == 0
    # By the program's own looks at the clock that its ranks share, whichever came first.
    (begins, ends), (late_begins, _) = (json.loads((tmp_path / f"calls{rank}").read_text())
                                        for rank in (0, 1))
    own = sum(max(0, there - here) for here, there in zip(begins, late_begins))
    assert waiting["waited_ns"] == late["made_wait_ns"] == pytest.approx(own, rel=0.05)
    told = [row for row in table(run, "verdict") if row["process"] == waiting["process"]]
    (cause,) = [row for row in told if row["cause"] == "other-rank"]
    # Who has no processor exchanges for longer than the other waits, and that is told before.
    if own > 0.6 * (sum(ends) - sum(begins)):
        assert cause is told[0]
    line = MPI.splitlines().index("        time.sleep(0.1)  # HERE") + 1
    assert cause["blame"].startswith(f"mpi.py:{line} ")


MPI_GROUPS = """
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
pair = world.Split(world.Get_rank() // 2)
for _ in range(5):
    pair.Allreduce(np.ones(10), np.empty(10))
"""


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not there")
def test_communicators_that_mpi_does_not_name_are_not_compared(python, tmp_path):  # noqa: F811
    script = tmp_path / "mpi.py"
    script.write_text(MPI_GROUPS)
    run = tmp_path / "run"
    done = record(run, ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", python,
                        script])
    assert done.returncode == 0, done.stderr
    assert not table(run, "stragglers")
    rows = [row for row in table(run, "unmatched_collectives")
            if row["name"] == "mpi4py.Comm.Allreduce"]
    assert [(row["reason"], row["count"]) for row in rows] == [("group not stated", 5)] * 4


ACCELERATE = """
import torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model, optimizer = torch.nn.Linear(8, 8), None
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(10):
    accelerator.backward(model(torch.ones(4, 8)).sum())
    optimizer.step()
    optimizer.zero_grad()
print("rank", accelerator.process_index, "of", accelerator.num_processes)
accelerator.end_training()
"""


def test_ranks_of_accelerate(python, tmp_path):  # noqa: F811
    script = tmp_path / "train.py"
    script.write_text(ACCELERATE)
    run = tmp_path / "run"
    env = {"ACCELERATE_USE_CPU": "true", "HF_HOME": str(tmp_path / "hf")}
    done = record(run, [python, "-m", "torch.distributed.run", "--standalone",
                        "--nproc-per-node=2", script], "--control-steps=0", env=env)
    assert done.returncode == 0, done.stderr
    assert sorted(words_of(done.stdout)[-8:]) == ["0", "1", "2", "2", "of", "of", "rank", "rank"]
    assert {"rank 0", "rank 1"} <= named(run).keys()
    waits = table(run, "stragglers")
    assert len({row["process"] for row in waits}) == 2
    # DDP reduces the gradients of each backward pass, all of which are recorded whole, and compares
    # and sends the parameters when it is made.
    reduced = [row["process"] for row in table(run, "collective_calls")
               if row["name"] == "gloo:all_reduce" and row["group"] == waits[0]["group"]]
    assert sorted(map(reduced.count, {row["process"] for row in waits})) == [10, 10]
    counts = {row["collectives"] for row in waits}
    assert len(counts) == 1 and 10 <= counts.pop() <= 20


def test_ranks_of_slurm_state_their_node_and_job(tmp_path):
    run = tmp_path / "run"
    script = tmp_path / "ranks.sh"
    script.write_text("for rank in 0 1; do SLURM_PROCID=$rank SLURM_NTASKS=2 SLURM_LOCALID=$rank "
                      "SLURM_NODEID=0 SLURM_JOB_ID=77 SLURM_RESTART_COUNT=1 python -c pass; done\n")
    done = record(run, ["bash", script])
    assert done.returncode == 0, done.stderr
    assert {"rank 0", "rank 1"} <= named(run).keys()
    facts = {row["name"]: row["value"] for row in table(run, "facts") if row["name"] in
             ("node_rank", "job", "restart", "host")}
    assert facts == {"node_rank": 0, "job": 77, "restart": 1, "host": os.uname().nodename}


def test_parts_of_a_job_have_control_steps_at_once(tmp_path):
    told = []
    for number, flags in enumerate((["--job=a \"b"], ["--job=a \"b"], ["--job=other"])):
        done = record(tmp_path / str(number), ["true"], *flags)
        assert done.returncode == 0, done.stderr
        told.append(json.loads((tmp_path / str(number) / "run.json").read_text()))
    assert [run["job"] for run in told] == ['a "b', 'a "b', "other"]
    assert told[0]["seed"] == told[1]["seed"] != told[2]["seed"]
    record(tmp_path / "batch", ["true"], env={"SLURM_JOB_ID": "other"})
    assert json.loads((tmp_path / "batch" / "run.json").read_text())["seed"] == told[2]["seed"]
