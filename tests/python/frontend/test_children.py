"""Processes that come, go and become others while a program is recorded."""

import sys

import crosscut

CHURN = """
import glob, multiprocessing, os, time
def rings(pids):
    found = [ring for folder in ("/dev/shm", os.environ["CROSSCUT_RUN"])
             for ring in glob.glob(folder + "/crosscut-*.ring")]
    return {ring for ring in found if int(os.path.basename(ring).split("-")[2]) in pids}
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    # Killed programs, which nobody has read, may have left rings under the numbers of today.
    left = rings(range(1 << 22))
    children = [context.Process(target=int) for _ in range(6)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    deadline = time.monotonic() + 15
    while rings({child.pid for child in children}) - left and time.monotonic() < deadline:
        time.sleep(0.05)
    print(len(rings({child.pid for child in children}) - left), bool(rings({os.getpid()})))
"""


def test_rings_of_ended_children_are_emptied_while_the_program_runs(recorder):
    script = recorder.script("churn.py", CHURN)
    done = recorder.record(sys.executable, script, timeout=60)
    assert done.stdout == "0 True\n", done.stderr
    table = list(crosscut.read(recorder.run_dir).table("processes").rows())
    assert len(table) == 7 and all(row["complete"] for row in table)
    assert not list(recorder.run_dir.glob("note-*"))


def test_an_image_that_exec_replaces_is_complete(recorder):
    recorder.python("import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'pass'])")
    first, second = crosscut.read(recorder.run_dir).table("processes").rows()
    assert first["pid"] == second["pid"]
    assert second["parent"] == first["process"]
    assert first["complete"] == second["complete"] == 1


def test_an_image_that_a_signal_ends_after_exec_is_not(recorder):
    done = recorder.record(sys.executable, "-c",
                           "import os, sys; os.execv(sys.executable, [sys.executable, '-c', "
                           "'import os; os.kill(os.getpid(), 9)'])")
    assert done.returncode == -9
    first, second = crosscut.read(recorder.run_dir).table("processes").rows()
    assert (first["complete"], second["complete"]) == (1, 0)


def test_threads_have_the_names_that_python_gives_them(recorder):
    recorder.python("""
import threading, time
from crosscut import operation
def work(rename=None):
    if rename:
        threading.current_thread().name = rename
    with operation("work"):
        time.sleep(0.01)
threads = [threading.Thread(target=work, name="loader"),
           threading.Thread(target=work, args=("later",), name="sooner"),
           threading.Thread(target=work, name="other")]
for thread in threads:
    thread.start()
threads[2].name = "renamed from outside"
for thread in threads:
    thread.join()
with operation("main"): pass
""")
    names = {row["thread"] for row in crosscut.read(recorder.run_dir).table("threads").rows()
             if row["operation"] in ("work", "main")}
    assert {name.split(" (")[0] for name in names} == {
        "main", "loader", "later", "renamed from outside"}
