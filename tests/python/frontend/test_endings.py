"""Twelve ways in which a program ends: recorded, it ends the same way and prints the same."""

import re
import signal
import sys

import crosscut
import pytest
from recording import COMMAND, PACKAGE, environment

ENDINGS = {
    "returns": "print('out')",
    "exits with a code": "import sys; print('out'); sys.exit(3)",
    "raises": "print('out', flush=True); raise RuntimeError('words')",
    "leaves by os._exit": "import os; print('out', flush=True); os._exit(7)",
    "aborts": "import os; print('out', flush=True); os.abort()",
    "dies of SIGTERM": "import os, signal; print('out', flush=True); "
                       "os.kill(os.getpid(), signal.SIGTERM)",
    "dies of SIGKILL": "import os, signal; print('out', flush=True); "
                       "os.kill(os.getpid(), signal.SIGKILL)",
    "dies of SIGSEGV": "import ctypes; print('out', flush=True); ctypes.string_at(0)",
    "leaves by C's exit": "import ctypes; print('out', flush=True); ctypes.CDLL(None).exit(9)",
    "leaves from a thread": "import os, threading; print('out', flush=True); "
                            "t = threading.Thread(target=os._exit, args=(11,)); "
                            "t.start(); t.join()",
    "is interrupted": "import os, signal, time; print('out', flush=True); "
                      "os.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "raises in atexit": "import atexit; print('out', flush=True); atexit.register(lambda: 1 / 0)",
    "ends its main thread": "import ctypes, threading, time; print('out', flush=True); "
                            "threading.Thread(target=time.sleep, args=(0.1,)).start(); "
                            "ctypes.CDLL(None).pthread_exit(None)",
    "dies of a signal it handles first": "import os, signal\n"
                                         "def end(n, f):\n"
                                         "    print('handled', flush=True)\n"
                                         "    signal.signal(n, signal.SIG_DFL)\n"
                                         "    os.kill(os.getpid(), n)\n"
                                         "signal.signal(signal.SIGUSR1, end)\n"
                                         "os.kill(os.getpid(), signal.SIGUSR1)\n",
}


def split(stderr):
    """Crosscut's lines and the program's, whose addresses differ from run to run."""
    lines = re.sub(r"0x[0-9a-f]+", "0x", stderr).splitlines()
    talk = [line for line in lines if line.startswith("crosscut: ")]
    return talk, [line for line in lines if line not in talk]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_recorded_program_ends_as_it_does_without(recorder, ending):
    program = recorder.script("program.py", ENDINGS[ending])
    plain = recorder.plain(sys.executable, program)
    recorded = recorder.record(sys.executable, program)
    assert recorded.returncode == plain.returncode
    assert recorded.stdout == plain.stdout
    talk, rest = split(recorded.stderr)
    assert rest == split(plain.stderr)[1]
    assert len(talk) <= 10
    assert len(recorder.logs()) == 1


def test_the_program_ignores_no_signal_that_its_starter_did_not(recorder):
    program = recorder.script("program.sh", "grep SigIgn /proc/self/status")
    plain = recorder.plain("/bin/sh", program)
    recorded = recorder.plain(sys.executable, "-m", "crosscut", "record", "-o", recorder.run_dir,
                              "--", "/bin/sh", program,
                              env=environment(PYTHONPATH=str(PACKAGE.parent)))
    assert plain.stdout.startswith("SigIgn:")
    assert recorded.stdout == plain.stdout, recorded.stderr


def test_a_signal_to_record_alone_reaches_the_program(recorder):
    program = recorder.script("program.py", (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(21))\n"
        "os.kill(os.getppid(), signal.SIGTERM)\n"
        # Short ones: a signal right before a sleep begins is handled when that has ended.
        "for _ in range(3000): time.sleep(0.01)\n"))
    assert recorder.record(sys.executable, program).returncode == 21


@pytest.mark.parametrize("command, code", [("./missing", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_run_is_answered_as_a_shell_does(recorder, command, code):
    done = recorder.record(command)
    assert done.returncode == code
    assert command in done.stderr


def test_a_setuid_program_is_named(recorder, tmp_path):
    import os
    import shutil

    if os.geteuid() != 0:
        pytest.skip("needs to give a file to another user")
    program = tmp_path / "setuid"
    shutil.copy("/bin/true", program)
    os.chown(program, 12345, 12345)
    program.chmod(0o4755)
    done = recorder.record(program)
    assert done.returncode == 0
    assert "is setuid" in done.stderr
    assert recorder.logs() == []


def test_a_program_that_is_no_python_appears_and_ends_as_without(recorder):
    done = recorder.record("sh", "-c", "echo out; exit 4")
    assert (done.returncode, done.stdout) == (4, "out\n")
    assert len(recorder.logs()) == 1


def test_death_by_signal_is_told_to_our_parent(recorder):
    done = recorder.record("sh", "-c", "kill -SEGV $$")
    assert done.returncode == -signal.SIGSEGV


@pytest.mark.parametrize("limit, logs", [(0, 0), (64 << 10, 0), (4 << 20, 1)])
def test_a_limit_of_file_sizes_harms_nobody(recorder, tmp_path, limit, logs):
    """Not even who starts it, and a program that is no Python: there SIGXFSZ ends it."""
    import resource

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    done = recorder.record("sh", "-c", "exit 5", preexec_fn=limited)
    assert done.returncode == 5, done.stderr
    assert len(recorder.logs()) == logs
    assert logs or "nothing" in done.stderr


def test_a_run_that_is_being_recorded_keeps_its_folder(recorder):
    import subprocess

    first = subprocess.Popen([PACKAGE / "bin" / "crosscut", "record", "-o", recorder.run_dir, "--",
                              "sh", "-c", "echo begun; read line; exit 3"], env=environment(),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert first.stdout.readline() == "begun\n"
    second = recorder.record("touch", recorder.folder / "ran")
    assert second.returncode == 2 and "is being recorded right now" in second.stderr
    first.communicate("go\n", timeout=20)
    assert first.returncode == 3 and len(recorder.logs()) == 1
    assert not (recorder.folder / "ran").exists()
    assert recorder.record("true").returncode == 0  # which moves it aside


@pytest.mark.parametrize("entry", [None, "run.json"])
def test_another_users_folder_is_refused(recorder, entry):
    import os

    if os.geteuid() != 0:
        pytest.skip("needs to give a folder to another user")
    recorder.run_dir.mkdir()
    if entry:
        (recorder.run_dir / entry).write_text("{}")
    os.chown(recorder.run_dir, 12345, 12345)
    done = recorder.record("true")
    assert done.returncode == 2 and "another user's folder" in done.stderr
    assert os.listdir(recorder.run_dir) == ([entry] if entry else [])


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_a_program_built_with_a_sanitizer_ends_as_without_and_is_named(recorder, sanitizer):
    import subprocess

    program = recorder.folder / sanitizer
    subprocess.run(["cc", "-xc", f"-fsanitize={sanitizer}", "-", "-o", program], check=True,
                   input="#include <stdio.h>\nint main() { puts(\"hello\"); return 5; }", text=True)
    plain, done = recorder.plain(program), recorder.record(program)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert f"is built with {sanitizer.title()}Sanitizer" in done.stderr


@pytest.mark.parametrize("command, code", [("exit 5", 5), ("ulimit -f 40000; sh -c 'exit 6'", 6)])
def test_notices_that_nobody_reads_end_nothing(recorder, command, code):
    """Ours at the end, and one from inside a program that has less room for its ring."""
    import os
    import subprocess

    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run([PACKAGE / "bin" / "crosscut", "record", "-o", recorder.run_dir, "--",
                           "sh", "-c", command], env=environment(), stderr=writes, timeout=60)
    os.close(writes)
    assert done.returncode == code and recorder.logs()


@pytest.mark.parametrize(("program", "told"), [
    ("import sys; sys.exit(3)", "The command ended with exit status 3."),
    ("raise ValueError('x')", "The command ended with exit status 1."),
    ("import os; os.kill(os.getpid(), 9)", "The command was ended by signal 9 (Killed)."),
    ("import sys; sys.exit(0)", None),
])
def test_the_first_line_says_how_a_command_ended_that_did_not_end_well(recorder, program, told):
    recorder.record(sys.executable, "-c", program)
    gaps = crosscut.read(recorder.run_dir).gaps
    assert gaps[:1] == ([told] if told else [])
    report = recorder.plain(COMMAND, "report", recorder.run_dir).stdout
    assert not told or report.startswith("! " + told)
