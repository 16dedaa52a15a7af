"""Samples by default: of which threads, where they are many, and of which files."""

import sys

from runs import record, table

# Beside threads that wait: the main thread works, then another one does.
MANY = """
import sys, threading, time
threading.stack_size(128 << 10)
end = threading.Event()
def waits():
    end.wait()
def work():
    begin = time.thread_time()
    while time.thread_time() - begin < 0.6:
        pass
def worker():
    work()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=waits, daemon=True).start()
work()
thread = threading.Thread(target=worker)
thread.start()
thread.join()
end.set()
"""


def test_threads_that_wait_take_no_samples_from_those_that_work(tmp_path):
    count = 300
    (tmp_path / "many.py").write_text(MANY)
    done = record(tmp_path / "run", [sys.executable, tmp_path / "many.py", str(count)])
    assert done.returncode == 0, done.stderr
    samples = {"waits": 0, "work": 0}
    main = 0
    for row in table(tmp_path / "run", "samples"):
        function = row["own_line"].rpartition(" ")[2]
        if function in samples:
            samples[function] += row["count"]
        if row["thread"] == "main":
            main += row["count"]
    # In its turn alone, the main thread would have as many as one that waits has on the mean.
    assert samples["waits"] > 0.5 * count
    assert main > 3 * samples["waits"] / count
    assert samples["work"] > main / 8


FILES = """
import multiprocessing, os, sys, importlib.util
def work(path):
    spec = importlib.util.spec_from_file_location("util", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.work()
if __name__ == "__main__":
    app, lib = os.path.dirname(os.path.abspath(__file__)), sys.argv[1]
    for path in app + "/a", app + "/b", lib + "/c", lib + "/d":
        work(path + "/util.py")
    os.chdir(lib)
    child = multiprocessing.get_context("spawn").Process(target=work, args=(app + "/b/util.py",))
    child.start()
    child.join()
"""


def test_a_file_has_a_name_of_its_own_which_is_the_same_in_every_process(tmp_path):
    start, app, lib = tmp_path / "start", tmp_path / "app", tmp_path / "lib"
    start.mkdir()
    for folder in app / "a", app / "b", lib / "c", lib / "d":
        folder.mkdir(parents=True)
        (folder / "util.py").write_text("import time\ndef work():\n    time.sleep(0.4)\n")
    (app / "main.py").write_text(FILES)
    done = record(tmp_path / "run", [sys.executable, "../app/main.py", lib], cwd=start)
    assert done.returncode == 0, done.stderr
    seen = {}
    for row in table(tmp_path / "run", "samples"):
        if row["own_line"].endswith(".py:3 work"):
            seen.setdefault(row["process"], set()).add(row["own_line"].partition(":")[0])
    assert sorted(map(sorted, seen.values())) == [
        [f"{folder}/util.py" for folder in "abcd"], ["b/util.py"]]
