"""Two hosts, as far as one machine can be two: network namespaces with a wire between them, and
time namespaces whose clocks are minutes apart."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from runs import CROSSCUT, PACKAGE, table

AHEAD_S = 500
PROGRAM = """
import json, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.set_num_threads(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
waits = []  # behind the forward pass, for the gradients of the other
for _ in range(60):
    if dist.get_rank() == 1:
        time.sleep(0.06)
    loss = model(torch.randn(8, 64)).sum()
    begin = time.perf_counter_ns()
    loss.backward()
    waits.append(time.perf_counter_ns() - begin)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
print(json.dumps(waits))
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def hosts():
    """Names of two network namespaces, 10.77.0.1 and 10.77.0.2, with interfaces `wire`."""
    if shutil.which("ip") is None:
        pytest.skip("no ip: tools/apt.txt has iproute2")
    names = [f"crosscut-{os.getpid()}-{n}" for n in (1, 2)]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", "wire", "netns", names[0], "type", "veth", "peer", "name", "wire",
           "netns", names[1])
        for n, name in enumerate(names, 1):
            ip("-n", name, "addr", "add", f"10.77.0.{n}/24", "dev", "wire")
            for device in ("lo", "wire"):
                ip("-n", name, "link", "set", device, "up")
    except (OSError, subprocess.CalledProcessError) as error:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        pytest.skip(f"no network namespaces here: {getattr(error, 'stderr', error)}")
    yield names
    for name in names:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


def start(name, rank, script, run):
    """A rank on its host, recorded there."""
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "RANK": str(rank), "WORLD_SIZE": "2",
           "LOCAL_RANK": "0", "GROUP_RANK": str(rank), "MASTER_ADDR": "10.77.0.1",
           "MASTER_PORT": "29700", "GLOO_SOCKET_IFNAME": "wire", "CROSSCUT_SEED": "5"}
    ahead = str(AHEAD_S * rank)
    inside = 'hostname "$0" && exec "$@"'
    return subprocess.Popen(
        ["ip", "netns", "exec", name, "unshare", "--uts", "--time", "--fork",
         f"--monotonic={ahead}", f"--boottime={ahead}", "sh", "-c", inside, f"host{rank}",
         CROSSCUT, "record", "-o", run, "--", sys.executable, script],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_clocks_and_waits_of_two_hosts(hosts, tmp_path):
    pytest.importorskip("duckdb")
    script = tmp_path / "ddp.py"
    script.write_text(PROGRAM)
    runs = [tmp_path / f"run{rank}" for rank in (0, 1)]
    ranks = [start(name, rank, script, run)
             for rank, (name, run) in enumerate(zip(hosts, runs))]
    waits = []
    assert len(ranks) == 2
    for rank in ranks:
        printed, errors = rank.communicate(timeout=300)
        if "unshare failed" in errors or "time" in errors and "not permitted" in errors:
            pytest.skip(f"no time namespaces here: {errors}")
        assert rank.returncode == 0, errors
        waits.append(json.loads(printed.splitlines()[-1]))
    # Their clocks are no common one, though the kernel is the same.
    facts = [{row["name"]: row["value"] for row in table(run, "facts")} for run in runs]
    assert [fact["host"] for fact in facts] == ["host0", "host1"]
    assert facts[0]["boot_id"] != facts[1]["boot_id"]
    cluster = tmp_path / "cluster"
    done = subprocess.run([CROSSCUT, "reduce", *runs, "-o", cluster], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    assert done.returncode == 0, done.stderr
    (clock,) = cluster_table(cluster, "host_clocks")
    assert {clock["host"], clock["beside"]} == {"host0", "host1"}
    sign = 1 if clock["host"] == "host1" else -1
    assert abs(sign * clock["offset_ns"] - AHEAD_S * 10**9) <= clock["error_ns"]
    assert clock["error_ns"] < 10_000_000
    rows = cluster_table(cluster, "stragglers")
    stragglers = {row["rank"]: row for row in rows}
    # What rank 0's backward passes took by its own clock is waiting, and work and a transfer as in
    # those of rank 1, which waits for nobody: 8 to 16 % of it where others have the processors.
    # In control steps nothing is seen; where the first step begins, only its process knows.
    seen = {row["step"] for row in table(runs[0], "steps") if row["step"] and not row["control"]}
    own, work = (sum(ns for step, ns in enumerate(of) if step in seen) for of in waits)
    made = stragglers[1]["made_wait_in_steps_ns"]
    assert own - 1.5 * work < made < own + waits[0][0] + 0.06e9, (made, own, work)
    # Outside of the steps, who starts later makes the other one wait: either of them.
    assert rows[0]["rank"] == 1
    assert (stragglers[1]["made_wait_in_steps_ns"]
            > 2 * (stragglers[0]["made_wait_in_steps_ns"] or 0))


def cluster_table(cluster, name):
    done = subprocess.run([CROSSCUT, "table", cluster, name, "--format=json"], check=True,
                          capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    columns = json.loads(done.stdout)["columns"]
    return [dict(zip(columns, cells)) for cells in zip(*columns.values())]
