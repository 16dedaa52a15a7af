"""The lines of the program's own code that samples have, and how its files are shown."""

import collections
import re
import shutil
import sys

from test_samples import record, run, table


def test_a_sample_has_the_line_of_the_programs_own_code(tmp_path):
    """Beside the line that ran, which may be in a library."""
    folder = tmp_path / "project"
    (folder / "nets").mkdir(parents=True)
    packages = folder / ".venv/lib/site-packages"
    packages.mkdir(parents=True)
    (packages / "package.py").write_text("""
import json, time
def work(call):
    while time.thread_time() < 1:  # the sampling starts late where all processors are busy
        json.dumps(list(range(2000)), indent=1)  # Python of the standard library
    call()
""")
    (folder / "nets/net.py").write_text("""
import time
def forward():
    time.sleep(0.3)
""")
    (folder / "train.py").write_text("""
import sys
sys.path += ["nets", ".venv/lib/site-packages"]
import package
from nets import net
package.work(net.forward)  # its own line
""")
    out = folder / "run"
    done = run("crosscut", "record", "-o", out, "--python=samples", "--", sys.executable,
               "train.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [row for row in table(out, "samples") if row["thread"] == "main"]
    slept = [row for row in rows if row["own_line"] == "nets/net.py:4 forward"]
    assert sum(int(row["ns"]) for row in slept) > 0.15e9
    assert {row["line"] for row in slept} == {"net.py:4 forward"}
    packed = [row for row in rows if "iterencode" in row["line"]]  # in C from 3.13 on
    assert packed and {row["own_line"] for row in packed} == {"train.py:6 <module>"}
    done = run("crosscut", "record", "-o", out, "--python=samples", "--", sys.executable, "-c",
               "import time; time.sleep(0.3)", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert ("python -c import time; time.sleep(0.3)/<string>:1 <module>" in
            {row["own_line"] for row in table(out, "samples")})


UNNAMED = r"""
import os, subprocess, sys, threading
names = {}
exec("import time\ndef generated(): time.sleep(0.4)", names)
thread = threading.Thread(target=names["generated"])
thread.start(), thread.join()
def python(*arguments, code=None):
    subprocess.run([sys.executable, *arguments], input=code, text=True, check=True)
for seconds in (0.4, 0.41, 0.4):
    python("-c", f"import time; time.sleep({seconds})")
for seconds in (0.4, 0.41):
    python("-c", f"import time\ntime.sleep({seconds})")
    python(code=f"import time; time.sleep({seconds})")
python("-c", "import os, time\nif os.fork() == 0: time.sleep(0.4)\nelse: os.wait()")
"""


def test_code_of_no_file_is_a_line_of_its_program(tmp_path):
    (tmp_path / "train.py").write_text(UNNAMED)
    out, done = record(tmp_path, sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    seen = collections.defaultdict(set)
    for row in table(out, "samples"):
        if row["line"].startswith("<") and row["waits_for"] in ("clock_nanosleep", "wait4"):
            assert row["own_line"].endswith("/" + row["line"])
            seen[row["own_line"].removesuffix("/" + row["line"])].add(row["process"])
    assert len(seen.pop("train.py")) == 1
    assert len(seen.pop("python -c import time; time.sleep(0.4)")) == 2  # started twice
    assert len(seen.pop("python -c import time; time.sleep(0.41)")) == 1
    assert len(seen.pop(next(name for name in seen if "import os" in name))) == 2  # a fork
    kinds = collections.Counter(re.sub(r"\d+", "N", re.sub(r"\[.{8}]", "[SUM]", name))
                                for name in seen)
    assert kinds == {"python -c import time [SUM]": 2, "python - (pid N)": 2}
    assert {len(processes) for processes in seen.values()} == {1}
    told = {row["place"] for row in table(out, "places")}
    assert {f"python -c import time; time.sleep({seconds})/<string>:1 <module>"
            for seconds in (0.4, 0.41)} <= told


def test_scripts_of_one_name_in_two_folders_are_two(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text("import time\ntime.sleep(0.4)\n")
    (tmp_path / "both.py").write_text(
        "import subprocess, sys\n"
        "for name in 'ab': subprocess.run([sys.executable, 'train.py'], cwd=name, check=True)\n")
    shell = "cd a && $0 train.py; cd ../b && $0 train.py"
    for command in (("sh", "-c", shell, sys.executable), (sys.executable, "both.py")):
        out, done = record(tmp_path, *command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        lines = {row["own_line"] for row in table(out, "samples")}
        assert {"a/train.py:2 <module>", "b/train.py:2 <module>"} <= lines
        shutil.rmtree(out)
