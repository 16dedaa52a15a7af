"""Which of Ray's processes are the program's, and what crosscut.ray gives to its workers."""

import os
import pathlib

import crosscut.ray
import pytest
from crosscut import _ray_processes
from recording import PACKAGE, Recorder


@pytest.fixture
def ray(tmp_path):
    """A package that looks like Ray's."""
    folder = tmp_path / "site-packages" / "ray"
    folder.mkdir(parents=True)
    (folder / "_raylet.so").touch()
    return folder


@pytest.mark.parametrize(("script", "kind"), [
    ("_private/workers/default_worker.py", "worker"),
    ("_private/workers/setup_worker.py", "daemon"),
    ("_private/log_monitor.py", "daemon"),
    ("_private/runtime_env/agent/main.py", "daemon"),
    ("autoscaler/_private/monitor.py", "daemon"),
    ("dashboard/dashboard.py", "daemon"),
    ("dashboard/agent.py", "daemon"),
    ("scripts/scripts.py", ""),
])
def test_scripts_of_ray_are_workers_or_daemons(ray, script, kind):
    assert _ray_processes.kind_of(str(ray / script)) == kind


def test_a_folder_that_is_called_ray_is_not_ray(tmp_path):
    assert _ray_processes.kind_of(str(tmp_path / "ray" / "_private" / "train.py")) == ""
    assert _ray_processes.kind_of("train.py") == ""
    assert _ray_processes.kind_of("ray.util.client.server") == "daemon"
    assert _ray_processes.kind_of("raytracer") == ""


def test_daemons_leave_no_log_and_workers_none_before_their_first_task(tmp_path, ray):
    recorder = Recorder(tmp_path)
    for script in ("dashboard/dashboard.py", "_private/workers/default_worker.py"):
        (ray / script).parent.mkdir(parents=True, exist_ok=True)
        (ray / script).write_text("print('ran')\n")
    (tmp_path / "start.py").write_text(
        "import subprocess, sys\nfor script in sys.argv[1:]:\n"
        "    subprocess.run([sys.executable, script], check=True)\n")
    done = recorder.record("python3", "start.py", ray / "dashboard/dashboard.py",
                           ray / "_private/workers/default_worker.py")
    assert (done.returncode, done.stdout) == (0, "ran\nran\n"), done.stderr
    assert [process.name for process in recorder.processes()] == ["start.py"]
    assert not list(recorder.run_dir.glob("note-*"))


def test_without_a_run_the_environment_stays_as_it_is(monkeypatch):
    monkeypatch.delenv("CROSSCUT_RUN", raising=False)
    assert crosscut.ray.runtime_env() == {}
    assert crosscut.ray.runtime_env(pip=["x"], env_vars={"A": "1"}) == {
        "pip": ["x"], "env_vars": {"A": "1"}}


def test_workers_get_the_run_and_its_settings_and_the_users_have_precedence(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("CROSSCUT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CROSSCUT_SEED", "7")
    monkeypatch.setenv("CROSSCUT_PLAN", "full")
    monkeypatch.setenv("CROSSCUT_PLUGINS", "/a.so")
    monkeypatch.setenv("CROSSCUT_TOLD", "")
    env = crosscut.ray.runtime_env(tmp_path / "run", working_dir=".",
                                   env_vars={"CROSSCUT_PLAN": "light", "PYTHONPATH": "/mine"})
    inject = PACKAGE / "inject"
    assert env == {"working_dir": ".", "env_vars": {
        "CROSSCUT_RUN": str(tmp_path / "run"), "CROSSCUT_PARENT": "", "CROSSCUT_SEED": "7",
        "CROSSCUT_PLAN": "light", "PYTHONPATH": f"{inject}:/mine"}}
    env = crosscut.ray.runtime_env(pathlib.Path(tmp_path, "run"))
    assert env["env_vars"]["PYTHONPATH"] == f"{inject}:${{PYTHONPATH}}"
    with pytest.raises(TypeError, match="env_vars must be a mapping"):
        crosscut.ray.runtime_env(tmp_path, env_vars=["A=1"])
