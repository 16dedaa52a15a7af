"""Jobs that are ended as batch systems end them: by a signal to every process of the job (systemd,
Slurm, Kubernetes), to the process group, to the command or to `record` alone; once, twice, or again
while the command stops. Status, output and files are those of the same command unrecorded.

The cases are chosen by a seed. CROSSCUT_BATCH_ENDS says how many are tried."""

import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

from runs import CROSSCUT, PACKAGE

CASES = int(os.environ.get("CROSSCUT_BATCH_ENDS", "24"))
A_MINUTE = 60
SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE,
           signal.SIGUSR1, signal.SIGALRM, signal.SIGXFSZ, signal.SIGRTMIN]

# What the command does with the signal. It says "ready" in a file when it would.
PYTHON = """
import os, signal, sys, time
how, number = sys.argv[1], int(sys.argv[2])
def say(word):
    print(word, flush=True)
stopped = False
def stop(*_):
    global stopped  # no exception: one that is raised in the middle of a file's end is swallowed
    signal.signal(number, signal.SIG_IGN)
    say("stopping")
    while how == "stops slowly" and not os.path.exists("end"):
        time.sleep(0.01)
    open("saved", "a").write("x")
    stopped = True
handlers = {"counts": lambda *_: say("got"), "ignores": signal.SIG_IGN, "dies": signal.SIG_DFL,
            "leaves": signal.SIG_DFL}
if number != signal.SIGKILL:
    signal.signal(number, handlers.get(how, stop))
open("ready", "w").write(str(os.getpid()))
while not stopped and not os.path.exists("end"):
    time.sleep(0.01)
sys.exit(7 if stopped else 5)
"""
SHELL = """
case "$1" in
  counts) trap 'echo got' $2 ;;
  ignores) trap '' $2 ;;
  dies|leaves) ;;
  *) trap 'trap "" $2; echo stopping
           while [ "$1" = "stops slowly" ] && [ ! -e end ]; do sleep 0.01; done
           printf x >> saved; exit 7' $2 ;;
esac
echo $$ > ready.new
mv ready.new ready
while [ ! -e end ]; do sleep 0.01; done
exit 5
"""
HOW = ["counts", "ignores", "dies", "leaves", "stops", "stops slowly"]


def wait_for(what, why):
    end = time.monotonic() + A_MINUTE
    while not what():
        assert time.monotonic() < end, why
        time.sleep(0.005)


def status_of(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines)


def descendants(pid):
    """The process and all that it started, itself first."""
    found = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [one for child in task.read_text().split() for one in descendants(int(child))]
        except OSError:
            pass
    return found


class Job:
    """The command in a folder of its own, in a session of its own, recorded or not."""

    def __init__(self, folder, case, recorded):
        folder.mkdir()
        self.folder, self.case, self.recorded = folder, case, recorded
        words = ([sys.executable, "-S", "-c", PYTHON] if case["language"] == "Python"
                 else ["sh", "-c", SHELL, "sh"])
        words += [case["how"], str(int(case["signal"]))]
        if recorded:
            words = [CROSSCUT, "record", "-o", folder.with_name("run"), "--", *words]
        self.process = subprocess.Popen(
            words, cwd=folder, env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            stdout=open(folder / "stdout", "w"), stderr=open(folder / "stderr", "w"),
            start_new_session=True, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_CORE, (0, 0)))
        wait_for(lambda: (folder / "ready").exists() and (folder / "ready").read_text(),
                 "the command does not begin")
        self.command = int((folder / "ready").read_text())

    def targets(self):
        if self.case["target"] == "command" or not self.recorded:
            return [self.command]
        return descendants(self.process.pid) if self.case["target"] == "all" else [self.process.pid]

    def signal(self):
        """Sends it as the case wants it."""
        if self.case["target"] == "group":
            return os.killpg(self.process.pid, self.case["signal"])
        for pid in self.targets():
            try:
                os.kill(pid, self.case["signal"])
            except ProcessLookupError:
                pass

    def settle(self):
        """Until no process of the job has the signal still before it."""
        bit = 1 << (self.case["signal"] - 1)

        def settled():
            return all(int(status_of(pid).get("ShdPnd", "0"), 16) & bit == 0
                       for pid in descendants(self.process.pid)
                       if status_of(pid).get("Name") != "crosscut-guard")
        wait_for(settled, "the signal is never taken")

    def lines(self):
        return (self.folder / "stdout").read_text().count("\n")

    def end(self):
        (self.folder / "end").touch()

    def run(self):
        case = self.case
        if case["how"] == "leaves":
            self.end()
        for time_ in range(case["times"]):
            if self.process.poll() is None:
                self.signal()
            if case["how"] == "counts":
                wait_for(lambda: self.lines() > time_, "the signal does not arrive")
                self.settle()
            if case["how"] == "stops slowly":
                wait_for(lambda: self.lines() == 1, "the signal does not arrive")
        if case["how"] == "counts":
            time.sleep(0.3)  # for one that comes twice
        if case["how"] == "ignores":
            self.settle()
        if case["how"] in ("counts", "ignores", "stops slowly"):
            self.end()
        status = self.process.wait(timeout=2 * A_MINUTE)
        saved = self.folder / "saved"
        return (status, (self.folder / "stdout").read_text(),
                saved.read_text() if saved.exists() else None)


def make_case(number):
    choose = random.Random(number)
    case = {"language": choose.choice(["Python", "sh"]), "how": choose.choice(HOW),
            "target": choose.choice(["all", "group", "command", "record"]),
            "signal": choose.choice(SIGNALS), "times": choose.choice([1, 1, 2])}
    if case["how"] in ("dies", "leaves") and choose.random() < 0.2:
        case |= {"signal": signal.SIGKILL, "target": "command"}
    if case["how"] == "counts" and case["target"] == "all":
        case["target"] = "group"  # one call of the kernel's: how far apart many are, nobody knows
    return case


@pytest.mark.parametrize("number", range(CASES))
def test_a_job_that_is_ended_from_outside_ends_as_it_does_unrecorded(number, tmp_path):
    case = make_case(number)
    job = Job(tmp_path / "recorded", case, recorded=True)
    recorded = job.run()
    plain = Job(tmp_path / "plain", case, recorded=False).run()
    told = (tmp_path / "recorded" / "stderr").read_text()
    if case["how"] == "leaves":  # it may be faster than the signal
        assert recorded[0] in (5, -case["signal"]) and recorded[1:] == plain[1:], (case, told)
    else:
        assert recorded == plain, (case, told)
    assert told.count("crosscut: ") <= 10


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_the_processes_beside_the_command_may_be_lost(number, tmp_path):
    case = {"language": "sh", "how": "ignores", "signal": signal.SIGTERM, "target": "record",
            "times": 1}
    job = Job(tmp_path / "recorded", case, recorded=True)
    def beside():
        return [pid for pid in descendants(job.process.pid)
                if status_of(pid).get("Name") in ("crosscut-guard", "signal-witness")]
    wait_for(lambda: len(beside()) == 2, "record has no processes of its own")
    ours = beside()
    assert ours
    for pid in ours:
        os.kill(pid, number)
    assert job.run() == (5, "", None)
    for pid in ours:
        assert not pathlib.Path(f"/proc/{pid}").exists()


COUNTS = {"language": "sh", "how": "counts", "signal": signal.SIGUSR1, "target": "group",
          "times": 1}


def named(job, name):
    return [pid for pid in descendants(job.process.pid) if status_of(pid).get("Name") == name]


@pytest.mark.parametrize("name, target", [("crosscut-guard", "record"),
                                          ("signal-witness", "group")])
def test_a_process_beside_the_command_that_is_killed_is_made_again(name, target, tmp_path):
    job = Job(tmp_path / "recorded", COUNTS | {"target": target}, recorded=True)
    wait_for(lambda: named(job, name), "record has no such process")
    first = named(job, name)
    os.kill(first[0], signal.SIGKILL)
    wait_for(lambda: named(job, name) and named(job, name) != first, "none is made again")
    assert job.run() == (5, "got\n", None)


def test_signals_of_the_group_come_once_beside_processes_that_get_no_processor(tmp_path):
    job = Job(tmp_path / "recorded", COUNTS, recorded=True)
    wait_for(lambda: named(job, "signal-witness"), "record has no witness")
    witness = named(job, "signal-witness")[0]
    os.kill(witness, signal.SIGSTOP)
    for count in (1, 2):  # two of one number that wait are one
        job.signal()
        wait_for(lambda: job.lines() >= count, "the signal does not arrive")
    os.kill(witness, signal.SIGCONT)
    time.sleep(0.3)
    job.end()
    assert job.process.wait(timeout=A_MINUTE) == 5
    assert job.lines() == 2


WAITS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("ready", flush=True)
while signal.sigwait([signal.SIGUSR1]):
    print("got", flush=True)
"""


def test_record_takes_a_signal_while_it_finds_out_whom_another_was_sent_to(tmp_path):
    """Else those that come meanwhile are one. It takes a tenth of a second to find that out."""
    bit = 1 << (signal.SIGUSR1 - 1)

    def sent_and_taken():
        os.kill(job.pid, signal.SIGUSR1)
        wait_for(lambda: int(status_of(job.pid)["ShdPnd"], 16) & bit == 0, "it is never taken")

    with open(tmp_path / "output", "w") as output:
        job = subprocess.Popen([CROSSCUT, "record", "-o", tmp_path / "run", "--", sys.executable,
                                "-S", "-c", WAITS], stdout=output)

    def got():
        return (tmp_path / "output").read_text().count("got")

    wait_for(lambda: "ready" in (tmp_path / "output").read_text(), "the command does not begin")
    for _ in range(30):  # a busy machine may take it all the time that there is
        before = got()
        sent_and_taken()
        sent_and_taken()
        time.sleep(0.02)
        if got() == before:
            break
        time.sleep(0.3)
    else:
        pytest.fail("no second signal was taken before the first was passed on")
    wait_for(lambda: got() > before, "no signal arrives")
    os.kill(job.pid, signal.SIGTERM)
    assert job.wait(timeout=A_MINUTE) == -signal.SIGTERM


def test_one_to_record_behind_one_to_the_group_comes_too(tmp_path):
    job = Job(tmp_path / "recorded", COUNTS, recorded=True)
    wait_for(lambda: named(job, "signal-witness"), "record has no witness")
    job.signal()
    wait_for(lambda: job.lines() == 1, "the signal does not arrive")
    job.settle()
    os.kill(job.process.pid, signal.SIGUSR1)
    wait_for(lambda: job.lines() == 2, "the second signal does not arrive")
    job.end()
    assert job.process.wait(timeout=A_MINUTE) == 5


def test_who_signals_record_by_its_command_line_reaches_the_command(tmp_path):
    job = Job(tmp_path / "recorded", COUNTS | {"target": "record"}, recorded=True)
    wait_for(lambda: named(job, "signal-witness"), "record has no witness")
    line = pathlib.Path(f"/proc/{job.process.pid}/cmdline").read_bytes()
    same = [pid for pid in descendants(job.process.pid)
            if status_of(pid)["Name"] != "crosscut-guard"
            and pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() == line]
    assert same == [job.process.pid]
    job.run()
    assert job.lines() == 1


def test_a_full_pipe_on_standard_error_that_nobody_reads_holds_up_no_job(tmp_path):
    fill = ("import fcntl, os; fcntl.fcntl(2, fcntl.F_SETFL, os.O_NONBLOCK)\n"
            "try:\n    while True: os.write(2, b'x')\nexcept BlockingIOError: pass\n"
            "fcntl.fcntl(2, fcntl.F_SETFL, 0)\nraise SystemExit(4)")
    ends = os.pipe()
    done = subprocess.run([CROSSCUT, "record", "-o", tmp_path / "run", "--", sys.executable, "-S",
                           "-c", fill], stderr=ends[1], timeout=2 * A_MINUTE)
    assert done.returncode == 4


@pytest.mark.parametrize("limit", [0, 4096])
def test_standard_error_that_takes_no_more_ends_no_job(limit, tmp_path):
    """A file at its limit: a message there raises SIGXFSZ."""
    with open(tmp_path / "stderr", "wb") as file:
        file.write(b"x" * limit)
        file.flush()
        done = subprocess.run([CROSSCUT, "record", "-o", tmp_path / "run", "--", "sh", "-c",
                               "exit 4"], stderr=file, timeout=2 * A_MINUTE,
                              preexec_fn=lambda: resource.setrlimit(
                                  resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 4
