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


def test_a_child_that_is_killed_in_its_sleep_lived_until_then(recorder):
    lived = float(recorder.python(
        "import os, signal, time\n"
        "told, tell = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    import crosscut\n"
        "    with crosscut.operation('waits'):\n"
        "        os.write(tell, b'.')\n"
        "        time.sleep(60)\n"
        "os.read(told, 1)\n"
        "begin = time.perf_counter()\n"
        "time.sleep(1)\n"
        "lived = time.perf_counter() - begin\n"
        "os.kill(pid, signal.SIGKILL)\n"
        "os.waitpid(pid, 0)\n"
        "print(lived)\n"))
    run = crosscut.read(recorder.run_dir)
    child = next(row for row in run.table("processes").rows() if not row["complete"])
    waits = next(row for row in run.table("operations").rows() if row["operation"] == "waits")
    # What the drain's 20 ms are on a machine that has no time for it is not known: half is enough
    # to tell it from a window that ends with the last event.
    assert lived / 2 < child["wall_ns"] / 1e9
    assert lived / 2 < waits["wall_ns"] / 1e9 <= child["wall_ns"] / 1e9
