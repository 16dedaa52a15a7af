"""Descriptors are the program's: none is kept, none of 0, 1 and 2 is taken, and what stands at 2 is
written to only while it is the standard error that was there at the start."""

import os
import subprocess
import sys
import time

import crosscut
import pytest
from recording import COMMAND, environment

DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
null = os.open(os.devnull, os.O_RDWR)
for fd in (0, 1, 2): os.dup2(null, fd)
while not os.path.exists("seen"): time.sleep(.01)
os.unlink("seen")
"""

LOSES_ITS_LOG = """
import glob, os, sys, time, crosscut
if sys.argv[1] == "data":
    os.close(2)
    assert os.open("data", os.O_RDWR | os.O_CREAT) == 2
    os.write(2, b"header")
if sys.argv[1] == "moved": os.dup2(os.open("moved", os.O_WRONLY | os.O_CREAT), 2)
for log in glob.glob(os.environ["CROSSCUT_RUN"] + "/*.crosscut"): os.unlink(log)
end = time.monotonic() + 15
while crosscut.flush() and time.monotonic() < end: time.sleep(.01)
time.sleep(.1)
if sys.argv[1] == "data": os.write(2, b"trailer")
"""


def test_who_started_a_daemon_reads_the_end_of_its_output(recorder):
    try:
        recorder.record(sys.executable, "-c", DAEMON)
    finally:
        (recorder.folder / "seen").touch()
        while (recorder.folder / "seen").exists():
            time.sleep(.01)


@pytest.mark.parametrize("where", ["here", "data", "moved"])
def test_a_notice_goes_to_the_standard_error_of_the_start_or_nowhere(recorder, where):
    done = recorder.record(sys.executable, recorder.script("program.py", LOSES_ITS_LOG), where)
    assert done.returncode == 0
    assert ("recording stopped" in done.stderr) == (where == "here"), done.stderr
    if where != "here":
        text = (recorder.folder / where).read_text()
        assert text == ("headertrailer" if where == "data" else "")


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_numbers_that_are_closed_stay_the_programs(recorder, closed):
    program = recorder.script("program.py", """
import crosscut, os
with crosscut.operation("with files"):
    files = [os.open(f"file{i}", os.O_RDWR | os.O_CREAT) for i in range(3)]
    os.write(files[-1], repr(files).encode())
""")

    def run(*before):
        subprocess.run(["bash", "-c", f'exec "$@" {closed}', "-", *before, sys.executable, program],
                       env=environment(PYTHONPATH=os.path.dirname(crosscut.__path__[0])),
                       cwd=recorder.folder, check=True, timeout=60)
        return (recorder.folder / "file2").read_text()

    plain = run()
    # Without sources: while the thread of a plugin loads it, as OpenCL's, the loader has the lowest
    # number for a moment (docs/faults.md).
    assert run(COMMAND, "record", "--sources=none", "-o", recorder.run_dir, "--") == plain
    assert "with files" in crosscut.read(recorder.run_dir).table("operations")["operation"]

NUMBERS = """
#include <fcntl.h>
#include <unistd.h>
int main(void) {
  close(1);  /* as a shell does before it puts a file there */
  for (int i = 0; i < 20000; ++i) {
    const int fd = open("/dev/null", O_RDONLY);
    if (fd != 1) return 1;
    close(fd);
  }
  return 0;
}
"""


def test_the_lowest_numbers_are_the_programs_from_its_first_instruction(recorder):
    """Plugins are loaded by then. Else a shell that redirects loses its output now and then."""
    (recorder.folder / "numbers.c").write_text(NUMBERS)
    subprocess.run(["cc", "-O1", "numbers.c", "-o", "numbers"], cwd=recorder.folder, check=True)
    for _ in range(20):
        assert recorder.record(recorder.folder / "numbers").returncode == 0
