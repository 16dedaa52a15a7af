"""Programs on Ray: each process by its name, sums, arrows against the program's own stamps, waits.

In .venv-rl (tools/setup.sh tests). One recording serves most of these tests: Ray takes some ten
seconds to start.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from ray_runs import SETTINGS, Spans, python_of, run_alone, run_recorded
from runs import PACKAGE, crosscut, table
from test_adds_up import check_sums
from test_step_frames import steps_and_frames

WORKERS = {"Rollout (quick)", "Rollout (slow)", "Store", "Threaded", "ray worker (preprocess)"}
# The executions of a round, each with the process it belongs to.
EXECUTED = {"sample": "Rollout.sample", "preprocess": "preprocess", "keep": "Store.keep",
            "both": "Threaded.both"}

# CROSSCUT_TEST_RAY=1: make soak STAGE=ray.
whole = pytest.mark.skipif(os.environ.get("CROSSCUT_TEST_RAY") != "1",
                           reason="takes a minute or more: CROSSCUT_TEST_RAY=1 runs it")


@pytest.fixture(scope="module")
def python():
    return python_of("ray")


def short(name):
    """A process's name without the number that stands for an actor that has none."""
    return re.sub(r" \([0-9a-f]{8}\)$", "", name)


def ended_processes(run):
    """The table, once a cluster that goes on has ended the workers of this program."""
    until = time.monotonic() + 120
    while True:
        rows = table(run, "processes")
        if time.monotonic() > until or "it is still running" not in {
                row["why_incomplete"] for row in rows}:
            return rows
        time.sleep(0.5)


class Recorded:
    """A recording of actor_learner.py."""

    def __init__(self, folder, python, address="local", **settings):
        self.run = folder / "run"
        stamps = folder / "stamps.json"
        self.done = run_recorded(self.run, python, "actor_learner.py", stamps, address, **settings)
        self.stamps = json.loads(stamps.read_text())
        self.processes = ended_processes(self.run)
        self.spans = Spans(self.run, folder)
        # The export counts from another moment than the program's clock.
        first = min(row["begin_ns"] for row in table(self.run, "spans") if row["name"] == "ray.get")
        self.offset = first - self.spans.named("ray.get")[0]["ts"] * 1000

    def at(self, span):
        """Begin and end of a span on the program's clock."""
        begin = span["ts"] * 1000 + self.offset
        return begin, begin + span["dur"] * 1000


@pytest.fixture(scope="module")
def learned(python, tmp_path_factory):
    return Recorded(tmp_path_factory.mktemp("learned"), python)


def check_processes(recorded):
    names = {short(row["name"]) for row in recorded.processes}
    assert names == WORKERS | {"actor_learner.py"}
    assert all(row["complete"] for row in recorded.processes)
    driver = next(row for row in recorded.processes if row["name"] == "actor_learner.py")
    assert {row["parent"] for row in recorded.processes} == {"", driver["process"]}
    pids = {short(name): pid for pid, name in recorded.spans.processes.items()}
    sampled = recorded.stamps["sample"][0]["result"]
    assert [pids["Rollout (quick)"], pids["Rollout (slow)"]] == [one["pid"] for one in sampled]
    assert pids["Store"] == recorded.stamps["keep"][0]["result"][0]["pid"]


def check_gaps(run):
    """None but what Ray and a busy machine do: Ray tells idle workers to end, and kills those that
    have not when its daemon ends; and a stack may change while it is read."""
    for gap in (row["message"] for row in table(run, "gaps")):  # may be empty: at best
        assert re.fullmatch(
            r"Ray ended \d workers? without a word, none of them at work: all that was recorded is "
            r"here\.|Process .*: \d samples? miss(es)? frames of (its|their) Python stack, .*",
            gap), gap


def test_every_worker_has_its_name_and_daemons_are_left_out(learned):
    check_processes(learned)
    check_gaps(learned.run)


def test_every_process_sums_to_its_wall(learned):
    check_sums(learned.run)


def check_executions(recorded):
    """Each execution is an operation of its own process that spans what the program saw of it."""
    rows = [row for row in table(recorded.run, "spans") if row["kind"] == "operation"]
    pids = {row["process"]: row["pid"] for row in recorded.processes}
    for called, name in EXECUTED.items():
        seen = [one for wait in recorded.stamps[called] for one in wait["result"]]
        # A coroutine has a row for each of its slices.
        parts = [(pids[row["process"]], row["begin_ns"], row["end_ns"])
                 for row in rows if row["name"] == name]
        assert seen
        for one in seen:
            assert any(pid == one["pid"] and begin <= one["begin"] <= end
                       for pid, begin, end in parts), (name, one)
            assert any(pid == one["pid"] and begin <= one["end"] <= end
                       for pid, begin, end in parts), (name, one)


def test_executions_are_operations_where_the_program_saw_them(learned):
    check_executions(learned)


def check_arrows(recorded):
    """From the call to the execution, and from there to the get that waited for it."""
    arrows = recorded.spans.arrows()
    for called, name in EXECUTED.items():
        for wait in recorded.stamps[called]:
            arrived = [source for source, target in arrows
                       if target["name"] == "ray.get" and
                       wait["begin"] <= recorded.at(target)[0] and
                       recorded.at(target)[1] <= wait["end"]]
            assert {span["name"] for span in arrived} == {name}
            assert sorted(span["pid"] for span in arrived) == sorted(
                one["pid"] for one in wait["result"])
            for source in arrived:
                begin, end = recorded.at(source)
                assert any(begin <= one["end"] <= end for one in wait["result"])
    assert arrows
    for source, target in arrows:
        assert source["ts"] <= target["ts"] + target["dur"], (source, target)
        if source["name"].endswith(".remote"):
            assert target["name"] in (source["name"].removesuffix(".remote"),
                                      source["name"].replace(".remote", ".__init__"))
            assert recorded.at(source)[0] <= recorded.at(target)[0]


def test_arrows_are_where_the_program_saw_calls_and_results(learned):
    check_arrows(learned)
    names = {(short(source.split(":")[0]), source.split(": ")[1], short(target.split(":")[0]),
              target.split(": ")[1]): count
             for (source, target), count in learned.spans.arrow_names().items()}
    assert names["actor_learner.py", "ray.put", "ray worker (preprocess)", "preprocess"] == 3
    assert names["ray worker (preprocess)", "preprocess", "actor_learner.py", "ray.wait"] == 3
    assert names["Store", "Rollout.sample.remote", "Rollout (quick)", "Rollout.sample"] == 1
    assert names["Rollout (quick)", "Rollout.sample", "Store", "Store.fetch"] == 1  # by an await
    assert {event["cat"] for event in learned.spans.events if event["ph"] in "sf"} == {"remote"}


def test_a_get_is_communication_and_says_what_it_waits_for(learned):
    gets = {row["name"]: row for row in table(learned.run, "functions") if row["layer"] == "comm"}
    waited = sum(wait["end"] - wait["begin"]
                 for waits in learned.stamps.values() for wait in waits)
    seen = [span for span in learned.spans.named("ray.get")
            if span["args"].get("for") != "Store.size"]
    assert {span["args"]["for"] for span in seen} == {*EXECUTED.values(), "Store.fetch"}
    assert len(seen) == sum(len(waits) for waits in learned.stamps.values())
    total = sum(span["dur"] for span in seen) * 1000
    # A loaded machine may let time pass between the program's stamps and ours.
    assert 0.8 * waited <= total <= waited
    assert gets["ray.get"]["total_ns"] >= total - 1000
    driver = learned.processes[0]["process"]
    main = {row["layer"]: row["ns"] for row in table(learned.run, "threads")
            if row["process"] == driver and row["thread"] == "main"}
    assert main["comm"] >= total - 1000


def test_a_table_says_who_waits_for_whom(learned):
    keys = {row["process"]: short(row["name"]) for row in learned.processes}
    rows = [row | {"for": keys[row["for_process"]]} for row in table(learned.run, "process_waits")
            if keys[row["process"]] == "actor_learner.py"]
    assert rows
    for row in rows:
        assert row["wait_ns"] == row["before_ns"] + row["running_ns"] + row["after_ns"]
    slow = next(row for row in rows if row["for"] == "Rollout (slow)")
    assert (slow["name"], slow["for_name"]) == ("ray.get", "Rollout.sample")
    # As the program saw it. In the first round the quick one may begin late, and end last.
    rounds = [(wait, wait["result"][1]) for wait in learned.stamps["sample"]
              if wait["result"][1]["end"] > wait["result"][0]["end"]]
    seen = sum(min(wait["end"], one["end"]) - max(wait["begin"], one["begin"])
               for wait, one in rounds)
    assert slow["count"] == len(rounds) >= 2
    assert abs(slow["running_ns"] - seen) <= 0.1e9 * len(rounds)
    # A coroutine began with the first of its slices: its sleep is time in which it ran.
    kept = next(row for row in rows if row["for_name"] == "Store.keep")
    assert kept["count"] == 3 and kept["running_ns"] + kept["after_ns"] >= 0.9 * 3 * 0.02e9
    counts = {(row["name"], row["for"]): row["count"] for row in rows}
    assert counts["ray.wait", "ray worker (preprocess)"] == 3
    assert counts["ray.get", "Threaded"] == 3


def test_an_actor_that_waits_is_idle_and_ray_s_own_threads_do_not_count(learned):
    """But for its start: what the slow actor does is sleep, and wait to be called."""
    slow = next(row["process"] for row in learned.processes if row["name"] == "Rollout (slow)")
    layers = {row["layers"]: row["ns"] for row in table(learned.run, "layers")
              if row["process"] == slow}
    work = {row["layer"]: row["ns"] for row in table(learned.run, "threads")
            if row["process"] == slow and row["operation"] == "Rollout.sample"}
    assert work["idle"] >= 3 * 0.19e9
    assert layers.get("", 0) < 0.05 * sum(layers.values()), "what is not known"
    assert layers["idle"] >= 3 * 0.19e9


def test_facts_say_who_is_who(learned):
    told = crosscut("info", learned.run)
    assert told.count("  role = actor\n") == 4 and told.count("  role = worker\n") == 1
    assert told.count("  role = driver\n") == 1
    assert "  actor_name = slow\n" in told and "  actor_class = Rollout\n" in told
    assert len(set(re.findall(r"  node_id = (\w{56})\n", told))) == 1
    assert len(set(re.findall(r"  actor_id = (\w{32})\n", told))) == 4


def test_nothing_is_left_in_shared_memory(learned):
    rings = re.findall(r"  ring = (\S+)\n", crosscut("info", learned.run))
    assert len(rings) == 6 and not any(pathlib.Path(ring).exists() for ring in rings)


@pytest.mark.parametrize("more", [(), pytest.param(("again",), marks=whole)])
def test_failures_generators_and_odd_calls_are_what_they_are_without(python, tmp_path, more):
    run = tmp_path / "run"
    with ThreadPoolExecutor() as beside:
        alone = beside.submit(run_alone, python, "odds.py", *more)
        recorded = run_recorded(run, python, "odds.py", *more)
    assert recorded.stdout == alone.result().stdout
    assert "Exception ignored" not in recorded.stderr
    counts = {}
    for row in table(run, "operations"):
        counts[row["operation"]] = counts.get(row["operation"], 0) + row["count"]
    assert [counts[name] for name in ("Sync.streams", "nested", "nothing", "number 7")] == [
        1, 3, 1, 1]
    assert counts["Async.streams"] == 7  # slices: three items, a sleep before each, and the end
    names = Spans(run, tmp_path).arrow_names()
    assert sum(count for (_, target), count in names.items() if target == "odds.py: ray.next") == 6
    assert sum(count for (source, target), count in names.items()
               if source.endswith(": nested") and target.endswith(": ray.get")) == 3


# ---- A cluster that exists ----


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


class Cluster:
    """Ray's daemons, started without Crosscut."""

    def __init__(self, python, folder):
        self.address = f"127.0.0.1:{free_port()}"
        env = {**os.environ, **SETTINGS, "RAY_TMPDIR": str(folder)}
        for name in ("PYTHONPATH", "LD_PRELOAD"):
            env.pop(name, None)
        # --block, so that this process and all below it can be ended, and nobody else's.
        self.head = subprocess.Popen(
            [python.parent / "ray", "start", "--head", "--block", "--num-cpus=4",
             f"--port={self.address.partition(':')[2]}", "--node-ip-address=127.0.0.1",
             "--include-dashboard=false"],
            env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def end(self):
        self.head.terminate()
        try:
            self.head.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self.head.pid, signal.SIGKILL)
            self.head.wait()


@pytest.fixture(scope="module")
def cluster(python):
    # Ray's sockets need a short path.
    folder = pathlib.Path(subprocess.check_output(["mktemp", "-d", "/tmp/ray-XXXXXX"],
                                                  text=True).strip())
    it = Cluster(python, folder)
    try:
        yield it
    finally:
        it.end()
        subprocess.run(["rm", "-rf", folder], check=True)


def test_workers_of_a_cluster_that_exists_record_into_the_run(cluster, python, tmp_path):
    recorded = Recorded(tmp_path, python, cluster.address)
    check_processes(recorded)
    check_gaps(recorded.run)
    check_sums(recorded.run)
    check_executions(recorded)
    check_arrows(recorded)


ELSEWHERE = """
import os, sys
import crosscut, ray
env = crosscut.ray.runtime_env(sys.argv[2], env_vars={"MINE": "1", "PYTHONPATH": "/mine"})
assert env["env_vars"]["PYTHONPATH"].endswith("/inject:/mine"), env
if sys.argv[3] == "missing":  # as on a machine without Crosscut
    env["env_vars"]["PYTHONPATH"] = "/nowhere/crosscut/inject:/mine"
ray.init(address=sys.argv[1], log_to_driver=False, runtime_env=env)

@ray.remote
def task():
    return os.environ["MINE"], sum("/mine" in path for path in sys.path), "crosscut" in sys.modules

print(*ray.get(task.remote()))
"""


@pytest.mark.parametrize(("how", "recorded"), [("here", True), ("missing", False)])
def test_a_program_that_is_not_recorded_may_have_its_workers_recorded(
        cluster, python, tmp_path, how, recorded):
    script, run = tmp_path / "elsewhere.py", tmp_path / "run"
    script.write_text(ELSEWHERE)
    done = subprocess.run([python, script, cluster.address, run, how], capture_output=True,
                          text=True, timeout=200,
                          env={**os.environ, **SETTINGS, "PYTHONPATH": str(PACKAGE)})
    assert (done.returncode, done.stdout) == (0, f"1 1 {recorded}\n"), done.stderr
    assert run.exists() == recorded
    if recorded:
        assert [row["name"] for row in table(run, "processes")] == ["ray worker (task)"]
        assert {row["operation"] for row in table(run, "operations")} == {"", "task"}


STEPS = """
import crosscut, ray, sys
ray.init(sys.argv[1], log_to_driver=False, runtime_env=crosscut.ray.runtime_env())

@ray.remote
class Learner:
    def __init__(self):
        import torch
        self.model = torch.nn.Linear(8, 8)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01)
        self.batch = torch.ones(4, 8)

    def update(self):
        for _ in range(3):
            self.optimizer.zero_grad()
            self.model(self.batch).sum().backward()
            self.optimizer.step()
        return 1

learner = Learner.remote()
print(sum(ray.get(learner.update.remote()) for _ in range(200)))
"""


def test_steps_of_an_actor_change_levels_in_the_middle_of_its_tasks(
        cluster, python, tmp_path):
    script, run = tmp_path / "steps.py", tmp_path / "run"
    script.write_text(STEPS)
    done = run_recorded(run, python, script, cluster.address, flags=["--budget=off"],
                        CROSSCUT_PLAN="control=30,operators=30")
    assert done.stdout == "200\n"
    learner = next(row["process"] for row in ended_processes(run) if "Learner" in row["name"])
    check_sums(run)
    counts = {row["operation"]: row["count"] for row in table(run, "operations")
              if row["process"] == learner}
    assert counts["Learner.update"] == 200
    kinds = [row for row in table(run, "step_kinds") if row["process"] == learner]
    assert sum(row["control_steps"] for row in kinds) > 0
    # Nothing of a task is left open for the next one to lie in.
    rows = {row["span"]: row for row in table(run, "spans")
            if row["process"] == learner and row["thread"] == "main"}
    inside = [rows[row["parent"]]["name"] for row in rows.values()
              if row["name"] == "Learner.update" and row["parent"] != ""]
    assert inside == []


KILLED = """
import crosscut, os, ray, sys
ray.init(sys.argv[1], log_to_driver=False, runtime_env=crosscut.ray.runtime_env())

@ray.remote(num_cpus=0)
class Actor:
    def pid(self):
        return os.getpid()

    def dies(self):
        os.kill(os.getpid(), 9)

dies, killed = Actor.options(name="dies").remote(), Actor.options(name="killed").remote()
pid = ray.get([actor.pid.remote() for actor in (dies, killed)])[1]
os.kill(pid, 9)
try:
    ray.get(dies.dies.remote())
except ray.exceptions.RayActorError:
    print("died")
"""


def test_a_worker_killed_in_its_sleep_is_explained_and_one_at_work_is_incomplete(
        cluster, python, tmp_path):
    script, run = tmp_path / "killed.py", tmp_path / "run"
    script.write_text(KILLED)
    assert "died\n" in run_recorded(run, python, script, cluster.address).stdout
    rows = ended_processes(run)
    told = [row["message"] for row in table(run, "gaps")]
    assert [gap for gap in told if gap.startswith("Ray ended 1 worker without a word")], told
    assert [short(row["name"]) for row in rows if not row["complete"]] == ["Actor (dies)"]


# ---- Whole libraries ----

WHOLE = ["--control-steps=0"]  # each operation is to be counted

@whole
def test_rllib_s_env_runners_and_learner(tmp_path):
    python, run = python_of("ray.rllib", "tree", "lz4"), tmp_path / "run"
    assert run_recorded(run, python, "rllib_ppo.py", flags=WHOLE).stdout.endswith("trained\n")
    check_sums(run)
    names = [short(row["name"]) for row in table(run, "processes")]
    assert sorted(names) == ["SingleAgentEnvRunner", "SingleAgentEnvRunner", "rllib_ppo.py"]
    counts = {row["operation"]: row["count"] for row in table(run, "operations")}
    assert counts["SingleAgentEnvRunner.apply"] >= 5
    assert counts["SingleAgentEnvRunner.__init__"] == 1  # of each
    arrows = Spans(run, tmp_path).arrow_names()
    called = [(source, target) for source, target in arrows
              if source == "rllib_ppo.py: SingleAgentEnvRunner.apply.remote"]
    assert len(called) == 2 and all(target.endswith("SingleAgentEnvRunner.apply")
                                    for _, target in called)
    assert any(target == "rllib_ppo.py: ray.wait" for _, target in arrows)


@whole
def test_a_grpo_step_of_trl_by_its_parts(tmp_path):
    python, run = python_of("ray", "trl", "transformers", "datasets"), tmp_path / "run"
    assert run_recorded(run, python, "trl_grpo.py", flags=WHOLE).stdout.endswith("trained 2 21\n")
    check_sums(run)
    names = {short(row["name"]): row["process"] for row in table(run, "processes")}
    assert set(names) == {"trl_grpo.py", "Judge (judge)", "Evaluator"}
    counts = {row["operation"]: row["count"] for row in table(run, "operations")
              if row["process"] == names["trl_grpo.py"]}
    assert {part: counts[part] for part in ("rl.rollout", "rl.reward", "rl.train", "rl.sync")} == {
        "rl.rollout": 2, "rl.reward": 2, "rl.train": 2, "rl.sync": 2}
    assert counts["inference"] >= 2 and counts["backward"] == 2
    # Who waits for whom: the reward for the judge, the sync for the evaluator.
    waits = {row["operation"]: row["ns"] for row in table(run, "threads")
             if row["process"] == names["trl_grpo.py"] and row["layer"] == "comm" and
             row["thread"] == "main"}
    assert waits["rl.reward"] >= 0.05e9 and waits["rl.sync"] > 0
    waits = {(row["operation"], row["for_name"]): row["count"]
             for row in table(run, "process_waits")}
    assert waits == {("rl.reward", "Judge.score"): 2, ("rl.sync", "Evaluator.take"): 2}


@whole
def test_the_workers_of_ray_train_are_named_by_their_ranks(tmp_path):
    python, run = python_of("ray.train", "pyarrow", "pandas", "torch"), tmp_path / "run"
    done = run_recorded(run, python, "torch_trainer.py", tmp_path / "results", flags=WHOLE)
    assert done.stdout.endswith("trained None\n")
    check_sums(run)
    names = {row["process"]: row["name"] for row in table(run, "processes")}
    ranks = {key for key, name in names.items() if name.startswith("RayTrainWorker")}
    assert {names[key] for key in ranks} == {"RayTrainWorker (rank 0)", "RayTrainWorker (rank 1)"}
    counts = [row["count"] for row in table(run, "operations")
              if row["process"] in ranks and row["operation"] == "optimizer"]
    assert counts == [20, 20]
    processes = table(run, "processes")
    assert processes and all(row["complete"] for row in processes)


RANKS = """
import ray, time
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)

@ray.remote
class Trainer:
    def join(self, rank):
        import torch.distributed as dist
        dist.init_process_group("gloo", init_method="file://STORE", rank=rank, world_size=2)

    def train(self):
        import torch, torch.distributed as dist
        for _ in range(5):
            time.sleep(0.1 * dist.get_rank())
            dist.all_reduce(torch.ones(4))

trainers = [Trainer.remote() for _ in range(2)]
ray.get([trainer.join.remote(rank) for rank, trainer in enumerate(trainers)])
ray.get([trainer.train.remote() for trainer in trainers])
"""


@whole
def test_actors_that_are_ranks_wait_for_the_late_one_in_their_collectives(tmp_path):
    python, run, script = python_of("ray", "torch"), tmp_path / "run", tmp_path / "ranks.py"
    script.write_text(RANKS.replace("STORE", str(tmp_path / "store")))
    run_recorded(run, python, script, flags=WHOLE)
    names = {row["process"]: row["name"] for row in table(run, "processes")}
    rows = {names[row["process"]]: row for row in table(run, "stragglers")}
    assert set(rows) == {"Trainer (rank 0)", "Trainer (rank 1)"}
    assert rows["Trainer (rank 0)"]["waited_ns"] >= 0.8 * 5 * 0.1e9
    assert rows["Trainer (rank 1)"]["last_count"] == rows["Trainer (rank 1)"]["collectives"] == 5


CALLS = """
import ray
ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
@ray.remote
class Actor:
    def step(self, value):
        return value
@ray.remote
def task(value):
    return value
actor = Actor.remote()
def step():
    one = actor.step.remote(ray.put(1))
    ray.wait([one])
    assert ray.get([one]) == [1]
measure(step, 200)
assert ray.get(task.remote(2)) == 2
"""


def test_a_call_and_a_wait_run_no_python_of_ours_where_they_are_made(python, tmp_path):
    _, frames = steps_and_frames(tmp_path, python, CALLS, timeout=300, env=SETTINGS)
    assert {name: count for name, count in frames.items() if count > 40} == {}
