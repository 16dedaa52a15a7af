"""`crosscut doctor` on this machine, on installations that lack something, and its cleaning."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import crosscut
import pytest
from crosscut.doctor import trial
from crosscut.doctor.finding import State

PACKAGE = pathlib.Path(crosscut.__file__).parent
A_MINUTE = 60


@pytest.fixture
def doctor(tmp_path):
    """Runs it with a cache of its own; `package`: a folder that holds the package."""
    def run(*arguments, package=PACKAGE.parent, **environment):
        return subprocess.run(
            [sys.executable, "-m", "crosscut", "doctor", *arguments], cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(package), "XDG_CACHE_HOME": str(tmp_path / "cache")}
            | environment, capture_output=True, text=True, timeout=3 * A_MINUTE)
    return run


def found(done):
    return {one["what"].split(" ")[0]: one for one in json.loads(done.stdout)["findings"]}


def fake_torch(folder, version="99.0"):
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text("")
    (folder / "torch" / "version.py").write_text(f"__version__ = '{version}'\n")


def test_it_tells_on_one_screen_what_is_recorded_here(doctor):
    done = doctor(XDG_CACHE_HOME=os.environ.get("XDG_CACHE_HOME", ""))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) <= 24
    assert "ok       recording: a program of one operation was recorded and read" in done.stdout
    assert f"ok       Python: {sys.version.split()[0]}" in done.stdout


def test_json_says_what_the_text_says(doctor):
    lines = [line.split(None, 1) for line in doctor().stdout.splitlines() if line[0] != " "]
    marks = {"ok": "ok", "less": "less", "absent": "-", "missing": "MISSING"}
    findings = json.loads(doctor("--json").stdout)["findings"]
    figures = re.compile(r"[0-9.]+ (MiB|rings?)")  # other programs change them meanwhile
    assert [[mark, figures.sub(r"\1", words)] for mark, words in lines] == [
        [marks[one["state"]], figures.sub(r"\1", f"{one['what']}: {one['words']}")]
        for one in findings]


def test_another_python_is_looked_at_by_its_path(doctor):
    program = PACKAGE / "bin" / "crosscut"
    done = subprocess.run([program, "doctor", "--json", "--python", sys.executable],
                          capture_output=True, text=True, timeout=3 * A_MINUTE)
    assert json.loads(done.stdout)["python"] == sys.executable
    done = subprocess.run([program, "doctor", "--python", "/nowhere"], capture_output=True,
                          text=True, timeout=A_MINUTE)
    assert done.returncode == 2 and "/nowhere: No such file or directory" in done.stderr


def test_a_torch_without_a_shim_is_missing_with_the_next_step(doctor, tmp_path):
    fake_torch(tmp_path / "site")
    both = f"{PACKAGE.parent}:{tmp_path / 'site'}"
    done = doctor("--json", package=both)
    assert done.returncode == 1
    assert found(done)["PyTorch"] == {
        "what": "PyTorch 99.0", "state": "missing", "next": "crosscut doctor --build",
        "words": "operators are not recorded: no shim is carried for this torch, and none is "
                 "built yet; the first record builds it"}
    nothing = doctor("--json", "--build", package=both, PATH="/nowhere", CXX="")
    assert "no C++ compiler was found" in found(nothing)["PyTorch"]["words"]
    nothing = doctor("--json", package=both, PATH="/nowhere", CXX="")
    assert "apt install g++" in found(nothing)["PyTorch"]["next"]
    assert found(nothing)["C++"]["state"] == "absent"


@pytest.mark.parametrize("gone, purpose", [
    ("lib/libcrosscut_preload.so", "reaches isolated Pythons"),
    ("inject/sitecustomize.py", "reaches Python programs"),
    ("_pycalls", "the boundary")])
def test_an_installation_that_lacks_a_part_is_told(doctor, tmp_path, gone, purpose):
    copy = tmp_path / "site" / "crosscut"
    for file in PACKAGE.rglob("*"):
        name = file.relative_to(PACKAGE)
        if file.is_file() and not str(name).startswith(gone) and "__pycache__" not in name.parts:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copy if name.parts[0] == "bin" else os.symlink)(file.resolve(), copy / name)
    done = doctor(package=copy.parent)
    assert done.returncode == 1, done.stdout
    line, = [line for line in done.stdout.splitlines() if gone in line and "MISSING" in line]
    assert purpose in line
    assert "complete" not in done.stdout


def test_a_loader_without_a_platform_is_no_device(doctor, tmp_path):
    one = found(doctor("--json", OCL_ICD_VENDORS=str(tmp_path)))["OpenCL"]
    assert one["state"] == "absent", one


def test_a_folder_for_temporary_files_that_takes_none_does_no_harm(doctor):
    done = doctor("--json", TMPDIR="/proc")  # Python then takes the next one
    assert found(done)["recording"]["state"] == "ok"


def test_a_trial_that_fails_is_told_with_its_last_words(monkeypatch):
    monkeypatch.setattr(trial, "PROGRAM", "import sys; sys.exit('the driver is broken')")
    finding, = trial.findings()
    assert finding.state is State.MISSING
    assert finding.words == "the program ended with status 1: the driver is broken"


def row(**cells):
    return {"version": "", "state": "on", "message": "", **cells}


def test_samples_without_native_code_are_less_and_none_are_missing():
    sample = trial._samples({"samples": row(message="Python alone, no native code: refused")})
    assert sample.state is State.LESS and "perf_event_paranoid" in sample.next
    assert trial._samples({}).state is State.MISSING


def test_an_nvidia_driver_whose_devices_are_not_recorded_is_missing(monkeypatch):
    monkeypatch.setattr(os.path, "exists", lambda path: path == "/dev/nvidiactl" or "so" in path)
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/opt/nsys.so")
    absent, other = trial._nvidia({"cupti": row(state="missing", message="no libcupti: install")})
    assert (absent.state, absent.words) == (State.MISSING, "no libcupti: install")
    assert other.state is State.LESS and other.next == "unset CUDA_INJECTION64_PATH"
    there, _ = trial._nvidia({"cupti": row(version="13.5")})
    assert there.state is State.OK and "13.5" in there.words


def test_cleaning_empties_the_cache_but_for_what_is_being_built(doctor, tmp_path):
    cache = tmp_path / "cache" / "crosscut"
    for name in ("1.0-a", "2.0-b"):
        (cache / "pytorch" / name).mkdir(parents=True)
        (cache / "pytorch" / name / "lock").write_text("")
        (cache / "pytorch" / name / "library.so").write_bytes(bytes(1 << 20))
    (cache / "probed-plugins").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").write_text("y")
    (cache / "pytorch" / "link").symlink_to(tmp_path / "elsewhere")
    with open(cache / "pytorch" / "2.0-b" / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = doctor("--clean")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1.0 MiB removed" in done.stdout and "2.0-b: it is being built" in done.stdout
    assert [file.name for file in (cache / "pytorch").iterdir()] == ["2.0-b"]
    assert (tmp_path / "elsewhere" / "mine").read_text() == "y"
    assert doctor("--clean").returncode == 0
    assert not cache.exists()


def test_cleaning_removes_what_killed_processes_left_a_day_ago(doctor, tmp_path):
    def folder(name, log="", days=2):
        made = tmp_path / "temporary" / name
        (made / "run").mkdir(parents=True)
        (made / "run" / f"p{log}-5770ed2efafe.crosscut").write_bytes(bytes(1 << 20))
        for path in (*made.rglob("*"), made):
            os.utime(path, (time.time() - days * 86_400,) * 2)
        return made

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = folder("crosscut-profile-abc_ef12", ended.pid)
    used = [folder("crosscut-profile-abc_ef13", os.getpid()),
            folder("crosscut-map-abc_ef12", ended.pid, days=0.9),
            folder("crosscut-data", ended.pid), folder("profile-abc_ef12", ended.pid)]
    (tmp_path / "temporary" / "crosscut-map-abc_ef14").symlink_to(used[-1])
    told = doctor(TMPDIR=str(tmp_path / "temporary")).stdout
    assert "temporary files: ended processes left 1 folder, 1.0 MiB" in told
    done = doctor("--clean", TMPDIR=str(tmp_path / "temporary"))
    assert "temporary files: 1 folder, 1.0 MiB removed" in done.stdout, done
    assert not left.exists() and all(path.exists() for path in used)
    assert "temporary files" not in doctor(TMPDIR=str(tmp_path / "temporary")).stdout


def test_nothing_stays_on_the_machine_after_it_looked(doctor, tmp_path):
    (tmp_path / "temporary").mkdir()
    assert doctor(TMPDIR=str(tmp_path / "temporary")).stdout
    assert not list((tmp_path / "temporary").iterdir())
    assert not (tmp_path / "cache" / "crosscut").exists()
