"""What a user types: commands without --, the newest run, names of runs, where output goes."""

import gzip
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

import pytest

from runs import CROSSCUT, PACKAGE

SLEEPER = "import sys, time\nprint(*sys.argv[1:], flush=True)\ntime.sleep(0.2)\n"
TRACE = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]
# Whether there is a display, a browser or a launcher must not depend on who runs the tests.
OUTSIDE = re.compile("DISPLAY|WAYLAND_DISPLAY|BROWSER|RANK|WORLD_SIZE|OMPI_|PMI_|SLURM_|PBS_|LSB_|"
                     "COBALT_|FLUX_|JOB_ID|CROSSCUT_|COLUMNS")


@pytest.fixture
def run(tmp_path):
    """Runs the command in an empty folder; returns the CompletedProcess (texts)."""
    plain = {key: value for key, value in os.environ.items() if not OUTSIDE.match(key)}

    def call(*words, env=None, check=True, **options):
        done = subprocess.run([CROSSCUT, *map(str, words)], cwd=tmp_path, text=True, timeout=300,
                              capture_output=True, env=plain | (env or {}), **options)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    (tmp_path / "t.py").write_text(SLEEPER)
    return call


def runs_listed(done):
    """The rows of `crosscut runs`, newest first: path to state."""
    rows = [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()[1:]]
    return {row[4]: row[3] for row in rows}


def verbs():
    page = subprocess.run([CROSSCUT, "help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z][a-z-]+) {3,}", page, re.M)


def test_alone_it_lists_every_verb_with_a_line_to_type():
    done = subprocess.run([CROSSCUT], capture_output=True, text=True)
    assert done.returncode == 2
    assert re.findall(r"^  crosscut ([a-z-]+)", done.stdout, re.M) == verbs()
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


@pytest.mark.parametrize("verb", verbs())
def test_help_explains_every_verb(verb):
    done = subprocess.run([CROSSCUT, "help", verb], capture_output=True, text=True)
    assert done.returncode == 0 and f"Usage: crosscut {verb}" in done.stdout


def test_the_first_word_that_is_no_option_begins_the_command(run, tmp_path):
    done = run("record", "--plan", "light", "--shapes", "-o", "here", sys.executable, "t.py",
               "--plan", "--", "-o")
    assert done.stdout == "--plan -- -o\n"
    assert (tmp_path / "here" / "run.json").exists()
    command = json.loads((tmp_path / "here" / "run.json").read_text())["command"]
    assert command[1:] == ["t.py", "--plan", "--", "-o"]


def test_dashes_may_stand_in_front_of_the_command(run):
    done = run("record", "--python=off", "--", sys.executable, "t.py", "-x")
    assert done.stdout == "-x\n"
    done = run("record", "--shapes", "--", "-odd", check=False)
    assert done.returncode == 127 and "-odd: no such command" in done.stderr


def test_an_unknown_option_starts_nothing(run, tmp_path):
    done = run("record", "--no-such", sys.executable, "t.py", check=False)
    assert done.returncode == 2 and "--no-such" in done.stderr and done.stdout == ""
    assert not (tmp_path / "crosscut-runs").exists()


@pytest.mark.parametrize("script, code, words", [
    (("s.py", 0o644, SLEEPER), 127, "crosscut record python"),
    (("./s.py", 0o644, SLEEPER), 126, "crosscut record python"),
    (("./s", 0o644, "#!/usr/bin/env -S bash -e\n"), 126, "type: crosscut record bash ./s 1 'a b'"),
    (("./data", 0o644, "no script"), 126, "chmod +x ./data"),
    (("s", 0o755, "#!/bin/sh\n"), 127, "not in PATH; type: crosscut record ./s 1 'a b'"),
    (("./s", 0o755, "#!/no/such/perl\n"), 127, "/no/such/perl, which its first line"),
])
def test_a_script_that_cannot_be_executed_gets_the_line_to_type(run, tmp_path, script, code, words):
    name, mode, text = script
    (tmp_path / name).write_text(text)
    (tmp_path / name).chmod(mode)
    done = run("record", "-o", "here", name, "1", "a b", check=False)
    assert done.returncode == code and words in done.stderr
    assert not (tmp_path / "here").exists()


def test_runs_lists_the_newest_first_with_its_state(run, tmp_path):
    run("record", "-o", "ended", sys.executable, "t.py")
    killed = run("record", "-o", "killed", sys.executable, "-c",
                 "import os; os.kill(os.getpid(), 9)", check=False)
    assert killed.returncode == -signal.SIGKILL
    run("record", sys.executable, "t.py")
    (tmp_path / "trace.json").write_text(json.dumps(TRACE))
    run("import", "trace.json", "-o", "imported")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text("{}")
    listed = runs_listed(run("runs"))
    assert list(listed.values()) == ["imported", "ended", "killed", "ended"]
    assert list(listed)[1].startswith("crosscut-runs/t-") and list(listed)[3] == "ended"
    assert list(runs_listed(run("runs", tmp_path))) == [f"{tmp_path}/{path}" for path in listed]


def test_runs_says_of_a_run_that_it_is_recording(run, tmp_path):
    with subprocess.Popen([CROSSCUT, "record", "-o", "live", sys.executable, "-c",
                           "input()"], cwd=tmp_path, stdin=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while runs_listed(run("runs")).get("live") != "recording":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.communicate(b"\n")
    assert runs_listed(run("runs")) == {"live": "ended"}


def test_runs_says_of_a_session_that_it_is_over_while_its_program_goes_on(run, tmp_path):
    code = ("import crosscut\nfor _ in range(2):\n"
            "    crosscut.start('own'); print('on', flush=True); input()\n"
            "    crosscut.stop(); print('off', flush=True); input()\n")
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE)}) as process:
        for state in ("recording", "stopped", "recording", "stopped"):
            process.stdout.readline()
            assert runs_listed(run("runs")) == {"own": state}
            process.stdin.write("\n")
            process.stdin.flush()
    assert runs_listed(run("runs")) == {"own": "ended"}


def test_what_reads_takes_the_newest_run_and_says_which(run, tmp_path):
    done = run("report", check=False)
    assert done.returncode == 2 and "crosscut record" in done.stderr
    run("record", "-o", "old", sys.executable, "t.py")
    run("record", "-o", "with space", sys.executable, "t.py")
    for words in (["report"], ["info"], ["table", "processes"], ["export", "-o", "out.json"]):
        done = run(*words)
        assert "the newest run: 'with space'" in done.stderr
    assert run("table", "processes").stdout == run("table", "with space", "processes").stdout
    assert "newest" not in run("report", "old").stderr
    done = run("table", "no-such", check=False)
    assert done.returncode == 3 and "no-such" in done.stderr


def test_the_installed_command_says_the_same(tmp_path, run):
    run("record", "-o", "here", sys.executable, "t.py")
    done = subprocess.run([sys.executable, "-m", "crosscut", "plot", "--help"], text=True,
                          env=os.environ | {"PYTHONPATH": str(PACKAGE)}, capture_output=True)
    assert done.returncode == 0 and done.stdout == run("plot", "--help").stdout


def test_what_is_printed_to_be_copied_is_quoted(run):
    done = run("record", "-o", "a b/it's", sys.executable, "t.py")
    line = done.stderr.split("next: ")[1].strip()
    assert line.endswith("a b/it'\\''s'")
    shown = subprocess.run(["sh", "-c", line.replace("crosscut", str(CROSSCUT), 1)],
                           capture_output=True, text=True)
    assert shown.returncode == 0
    assert re.search(r"crosscut table '/.*a b/it'\\''s'", shown.stdout)


@pytest.mark.parametrize("template, env, path", [
    ("r-%r-of", {"RANK": "3", "WORLD_SIZE": "8", "SLURM_PROCID": "7"}, "r-3-of"),
    ("r-%r", {"RANK": "first", "SLURM_PROCID": "7", "SLURM_NTASKS": "9"}, "r-7"),
    ("%j/%q{WHO}", {"SLURM_JOB_ID": "77", "WHO": "me"}, "77/me"),
    ("100%%", {}, "100%"),
    ("%h", {}, os.uname().nodename),
])
def test_placeholders_in_the_name_of_a_run(run, tmp_path, template, env, path):
    run("record", "-o", template, "true", env=env)
    assert (tmp_path / path / "run.json").exists()


@pytest.mark.parametrize("template, words", [
    ("x-%r", "OMPI_COMM_WORLD_RANK"), ("x-%j", "SLURM_JOB_ID"),
    ("%q{NOT_SET}", "NOT_SET is not set"),
    ("%z", "%q{NAME}"), ("50%", "%q{NAME}"), ("%q{X", "%q{NAME}"),
])
def test_a_placeholder_that_stands_for_nothing_starts_nothing(run, tmp_path, template, words):
    done = run("record", "-o", template, sys.executable, "t.py", check=False)
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""
    assert os.listdir(tmp_path) == ["t.py"]


def test_the_process_id_in_a_name_is_that_of_record(run, tmp_path):
    with subprocess.Popen([CROSSCUT, "record", "-o", "p-%p", "true"], cwd=tmp_path) as process:
        assert process.wait(timeout=60) == 0
    assert (tmp_path / f"p-{process.pid}" / "run.json").exists()


def test_a_link_stays_a_link_where_runs_step_aside(run, tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "link").symlink_to("scratch/run")
    for _ in range(2):
        run("record", "-o", "link", "true")
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path / "scratch")) == ["run", "run.1"]


def test_the_end_of_a_name_decides_the_format(run, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(TRACE))
    begins = {"r.html": "<!doctype html", "r.md": "# ", "r.json": "{", "r.txt": "Nothing is"}
    for name, begin in begins.items():
        run("report", "t.json", "-o", name)
        assert (tmp_path / name).read_text().startswith(begin)
    run("report", "t.json", "-o", "r.html.gz")
    assert gzip.decompress((tmp_path / "r.html.gz").read_bytes()).startswith(b"<!doctype")
    run("report", "t.json", "--format=json", "-o", "r.html")
    json.loads((tmp_path / "r.html").read_text())
    formats = {"e.json.gz": "chrome", "e.pftrace": "perfetto", "e.perfetto-trace": "perfetto",
               "e.speedscope.json": "speedscope", "e.folded": "collapsed", "e.pb": "xspace"}
    for name, format in formats.items():
        assert f"wrote {name} ({format}, " in run("export", "t.json", "-o", name).stderr
        run("export", "t.json", "--to", format, "-o", f"x-{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"x-{name}").read_bytes()
    done = run("export", "t.json", "-o", "e.bin", check=False)
    assert done.returncode == 2 and "--to" in done.stderr and not (tmp_path / "e.bin").exists()


def test_dash_is_stdout_and_pipes_and_devices_stay(run, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(TRACE))
    for name in ("-", "/dev/stdout"):
        done = run("export", "t.json", "--to=chrome", "-o", name)
        assert "traceEvents" in json.loads(done.stdout)
        assert run("report", "t.json", "-o", name).stdout.startswith("Nothing is")
    os.mkfifo(tmp_path / "fifo")
    with subprocess.Popen(["cat", tmp_path / "fifo"], stdout=subprocess.PIPE) as reader:
        run("report", "t.json", "--format=html", "-o", "fifo")
        assert reader.communicate(timeout=60)[0].startswith(b"<!doctype")
    assert stat.S_ISFIFO(os.stat(tmp_path / "fifo").st_mode)
    done = run("report", "t.json", "-o", "/dev/full", check=False)
    assert done.returncode == 3 and "No space left" in done.stderr
    with open(tmp_path / "log", "w") as log:
        log.write("before\n")
        log.flush()
        subprocess.run([CROSSCUT, "report", "t.json", "-o", "/dev/stdout"], cwd=tmp_path,
                       stdout=log, check=True)
    assert (tmp_path / "log").read_text().startswith("before\nNothing is")


@pytest.mark.parametrize("verb", [["doctor"], ["validate", "--pairs=1", "--", "true"],
                                  ["table", "--help"]])
def test_what_stdout_cannot_take_is_an_error_and_a_reader_may_leave(verb):
    with open("/dev/full", "w") as full:
        done = subprocess.run([CROSSCUT, *verb], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "stdout: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([CROSSCUT, *verb], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode in (0, 1, 3, -signal.SIGPIPE)  # 3: what validate shows by one pair
    assert "stdout" not in done.stderr and "Traceback" not in done.stderr


def test_open_writes_the_page_and_shows_it_where_it_can(run, tmp_path):
    run("record", "-o", "a b", sys.executable, "t.py")
    page = tmp_path / "a b" / "report.html"
    done = run("open")
    assert done.stdout.splitlines() == [str(page), f"file://{tmp_path}/a%20b/report.html"]
    assert page.read_text().startswith("<!doctype html")
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" > {tmp_path}/shown\n")
    browser.chmod(0o755)
    for env in ({}, {"DISPLAY": ":99"}):
        done = run("open", "a b", env=env | {"BROWSER": f"false:{browser} %s &"})
        assert done.stdout == "" and f"shown by {browser}" in done.stderr
        assert (tmp_path / "shown").read_text() == f"file://{tmp_path}/a%20b/report.html\n"
        (tmp_path / "shown").unlink()
    (tmp_path / "t.json").write_text(json.dumps(TRACE))
    (tmp_path / "own").write_text("kept")
    (tmp_path / "t.json.html").symlink_to("own")
    run("open", "t.json")
    assert (tmp_path / "own").read_text() == "kept"
    assert (tmp_path / "t.json.html").exists()
    run("open", "t.json", "-o", "other.html")
    assert (tmp_path / "other.html").read_bytes() == (tmp_path / "t.json.html").read_bytes()


def test_open_keeps_the_spans_of_steps_that_are_named(run, tmp_path):
    steps, spans = 60, 500  # more than a page keeps
    events = []
    for i in range(steps):
        events.append({"ph": "X", "name": f"ProfilerStep#{i}", "cat": "user_annotation", "pid": 1,
                       "tid": 1, "ts": 1000 * i, "dur": 900})
        events += [{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1,
                    "ts": 1000 * i + k, "dur": 0.5, "args": {"Input Dims": [[i, k]]}}
                   for k in range(1, spans + 1)]
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    run("open", "t.json", "-o", "page.html", "--steps", "17,3", "--steps", "41")
    page = (tmp_path / "page.html").read_text()
    assert len(page) < 5 << 20
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert data["run"] == "t.json"
    titles = [detail["title"] for detail in data["timeline"]["details"]]
    assert [title for title in titles if title.endswith("asked for")] == titles[:3]
    assert sorted(re.findall(r"\d+", " ".join(titles[:3]))) == ["17", "3", "41"]
    assert len(titles) > 10, "there is room for others, too"
    texts, args = data["timeline"]["texts"], data["timeline"]["args"]
    track = data["timeline"]["details"][0]["tracks"][0]
    assert len(track["at"]) == spans
    number = re.search(r"\d+", titles[0])[0]
    assert [texts[i] for i in args[track["args"][0]]] == ["Input Dims", f"[[{number}, 1]]"]
    done = run("open", "t.json", "-o", "none.html", "--steps", "17,60", check=False)
    assert done.returncode == 3 and not (tmp_path / "none.html").exists()
    assert "no step has the number 60; the first one is 0, the last one 59" in done.stderr
    done = run("open", "t.json", "--steps", "x", check=False)
    assert done.returncode == 2 and "x is no number of a step; write 17 or 17,42" in done.stderr


def test_times_and_sizes_have_units(run):
    script = "import os; print(os.environ['CROSSCUT_MEMORY'], os.environ['CROSSCUT_KEEP'])"
    done = run("record", "--memory", "1.5G", "--keep=2m", sys.executable, "-c", script)
    assert done.stdout == "1536 120\n"
    done = run("record", sys.executable, "-c", script,
               env={"CROSSCUT_MEMORY": "512M", "CROSSCUT_KEEP": "1500ms"})
    assert done.stdout == "512 1.5\n"
    for option in ("--memory=1Q", "--memory=1K", "--keep=10x", "--stop-after-seconds=soon"):
        done = run("record", option, "true", check=False)
        assert done.returncode == 2 and option.split("=")[0] in done.stderr
        assert re.search("64M|10s", done.stderr)


def test_a_program_that_records_itself_takes_units_too(tmp_path):
    script = ("import crosscut, sys\n"
              "assert crosscut.start(sys.argv[1]), crosscut.error()\n"
              "crosscut.stop()\n")
    env = os.environ | {"PYTHONPATH": str(PACKAGE), "CROSSCUT_KEEP": "2m", "CROSSCUT_MEMORY": "16M"}
    subprocess.run([sys.executable, "-c", script, tmp_path / "good"], env=env, check=True)
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "bad"], text=True,
                          env=env | {"CROSSCUT_MEMORY": "16Q"}, capture_output=True)
    assert done.returncode == 1 and "CROSSCUT_MEMORY is 16Q" in done.stderr
