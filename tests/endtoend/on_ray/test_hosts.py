"""A Ray cluster of three hosts, as far as one machine can be three: each has a network namespace
with a wire to a switch, a name, and a disk of its own at /scratch."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from crosscut.cluster import dataset
from ray_runs import SETTINGS, python_of
from runs import PACKAGE, ROOT

sys.path.append(str(ROOT / "tests/python/cluster"))

# Three nodes need more than Ray alone, and whoever runs `ray stop` beside them ends them.
pytestmark = pytest.mark.skipif(not os.environ.get("CROSSCUT_TEST_RAY"),
                                reason="CROSSCUT_TEST_RAY=1 runs it: it needs Ray for itself")
HOSTS = 3
LONG = 30_000  # steps of a trace that takes seconds to map
# A node that does not answer is given up after some 15 s instead of a minute.
QUICK = {"RAY_health_check_initial_delay_ms": "2000", "RAY_health_check_period_ms": "1000",
         "RAY_health_check_timeout_ms": "5000", "RAY_health_check_failure_threshold": "3"}


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Hosts:
    """Hosts 1 to 3: 10.78.0.1 to 10.78.0.3."""

    def __init__(self, folder, python):
        self.folder, self.python = folder, python
        self.names = [f"crosscut-{os.getpid()}-{n}" for n in range(HOSTS + 1)]
        self.started = []
        self.short = tempfile.mkdtemp(prefix="cc-ray-", dir="/tmp")  # of sockets: short paths

    def build(self):
        switch = self.names[0]
        for name in self.names:
            ip("netns", "add", name)
        ip("-n", switch, "link", "add", "switch", "type", "bridge")
        ip("-n", switch, "link", "set", "switch", "up")
        for n in range(1, HOSTS + 1):
            ip("link", "add", "wire", "netns", self.names[n], "type", "veth", "peer", "name",
               f"port{n}", "netns", switch)
            ip("-n", switch, "link", "set", f"port{n}", "master", "switch", "up")
            ip("-n", self.names[n], "addr", "add", f"10.78.0.{n}/24", "dev", "wire")
            for device in ("lo", "wire"):
                ip("-n", self.names[n], "link", "set", device, "up")
            (self.folder / f"disk{n}" / "runs").mkdir(parents=True)

    def start(self, n, *command, **options):
        """A command on host n."""
        env = {**os.environ, **SETTINGS, **QUICK, "PYTHONPATH": str(PACKAGE),
               "RAY_ADDRESS": "10.78.0.1:6379", **options.pop("env", {})}
        inside = ('mkdir -p /scratch && mount --bind "$0" /scratch && hostname "$1" && shift && '
                  'exec "$@"')
        return subprocess.Popen(
            ["ip", "netns", "exec", self.names[n], "unshare", "--uts", "--mount", "sh", "-c",
             inside, self.folder / f"disk{n}", f"host{n}", *map(os.fspath, command)],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)

    def start_ray(self):
        for n in range(1, HOSTS + 1):
            where = ["--head", "--port=6379", "--include-dashboard=false"]
            if n > 1:
                where = ["--address=10.78.0.1:6379"]
            started = self.start(
                n, self.python, "-m", "ray.scripts.scripts", "start", *where, "--block",
                f"--node-ip-address=10.78.0.{n}", "--num-cpus=1",
                "--object-store-memory=100000000", f"--temp-dir={self.short}/{n}",
                env={"RAY_ADDRESS": ""})
            self.started.append(started)
            threading.Thread(target=self._keep, args=(n, started), daemon=True).start()
        look = ("import ray, sys, time\nray.init(log_to_driver=False)\n"
                "while sum(n['Alive'] for n in ray.nodes()) < int(sys.argv[1]): time.sleep(0.5)")
        done = self.start(1, self.python, "-c", look, str(HOSTS))
        said, _ = done.communicate(timeout=60)
        assert done.returncode == 0, said

    def _keep(self, n, started):
        (self.folder / f"ray{n}.log").write_text(started.communicate()[0])

    def pids(self, n):
        found = subprocess.run(["ip", "netns", "pids", self.names[n]], capture_output=True,
                               text=True)
        return [int(pid) for pid in found.stdout.split()]

    def await_work(self, n):
        """Until a worker of `map` runs on host n."""
        end = time.monotonic() + 200
        while time.monotonic() < end:
            for pid in self.pids(n):
                try:
                    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                        if "crosscut.cluster.workers" in file.read():
                            return
                except OSError:
                    pass
            time.sleep(0.05)
        raise AssertionError(f"host {n} was never asked to map anything")

    def kill(self, n):
        for pid in self.pids(n):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass

    def cut_off(self, n):
        ip("-n", self.names[0], "link", "set", f"port{n}", "down")

    def remove(self):
        for n in range(1, len(self.names)):
            self.kill(n)
        for started in self.started:
            started.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        shutil.rmtree(self.short, ignore_errors=True)


@pytest.fixture
def hosts(tmp_path):
    python = python_of("ray", "duckdb")
    if shutil.which("ip") is None:
        pytest.skip("no ip: tools/apt.txt has iproute2")
    hosts = Hosts(tmp_path, python)
    try:
        try:
            hosts.build()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr}")
        yield hosts
    finally:
        hosts.remove()


@pytest.mark.parametrize("event", ["nothing", "kill", "cut_off"])
def test_each_host_maps_the_runs_of_its_own_disk(hosts, tmp_path, event):
    """All have them at the same path, and the host that reduces has some, too."""
    import ranks

    for rank in range(2 * HOSTS):
        long = event != "nothing" and rank >= 2 * HOSTS - 2
        host = rank // 2 + 1
        path = ranks.trace_of(tmp_path / f"disk{host}" / "runs", rank, world=2 * HOSTS,
                              steps=LONG if long else 3)
        os.rename(path, path.removesuffix(".txt") + ".json")  # as traces in folders are called
    hosts.start_ray()
    output = tmp_path / "cluster"
    done = hosts.start(1, hosts.python, "-m", "crosscut", "reduce", "/scratch/runs", "--on=ray",
                       "-o", output)
    if event != "nothing":
        hosts.await_work(HOSTS)
        getattr(hosts, event)(HOSTS)
    said, code = done.communicate(timeout=400)[0], done.returncode
    cluster = dataset.open_cluster(os.fspath(output))
    there = cluster.table("ranks").column("rank").to_pylist()
    if event == "nothing":
        assert (code, there, ranks.gaps_of(cluster)) == (0, list(range(2 * HOSTS)), []), said
        return
    assert (code, there) == (3, list(range(2 * HOSTS - 2))), said
    assert cluster.facts["missing"] == [[2 * HOSTS - 2, 2 * HOSTS - 1]]
    assert any(gap.startswith(f"host{HOSTS}: it could not map /scratch/runs/rank4.json, ")
               for gap in ranks.gaps_of(cluster)), ranks.gaps_of(cluster)
