"""crosscut/interpose.h: functions of a shared library in a program that knows nothing of it."""

import os
import subprocess

from runs import CROSSCUT, ROOT, record, table

EXAMPLES = ROOT / "build" / "release" / "examples"
PROGRAM, SPANS = EXAMPLES / "interpose_program", EXAMPLES / "libsimulator_spans.so"
STEPS, MICROSECONDS = 60, 300


def test_calls_of_an_interposed_library_are_spans_of_its_layer(tmp_path):
    loops = tmp_path / "loops"
    command = [PROGRAM, str(STEPS), str(MICROSECONDS), loops]
    bare = subprocess.run(command, capture_output=True, text=True)
    run = tmp_path / "run"
    done = record(run, command, env={"LD_PRELOAD": str(SPANS)})
    assert done.returncode == 0, done.stderr
    assert done.stdout == bare.stdout and bare.stdout.count(".") == 2
    functions = {row["name"]: row for row in table(run, "functions")}
    expected = {"sim_new": 2, "sim_step": STEPS + STEPS // 2, "sim_replay": 2}
    assert {name: functions[name]["count"] for name in expected} == expected
    assert {functions[name]["layer"] for name in expected} == {"simulator"}
    assert "sim_free" not in functions, "nobody interposes it"
    # Each step lasts at least as long as it was told to; the program's own loops around them have
    # nothing else, and take what a busy machine makes of that.
    step, whole = functions["sim_step"], int(loops.read_text())
    assert step["min_ns"] >= MICROSECONDS * 1000
    assert 0.9 * whole <= step["total_ns"] <= whole
    (process,) = [row for row in table(run, "processes") if row["name"] != "crosscut"]
    assert process["complete"]
    threads = {row["thread"] for row in table(run, "threads") if row["layer"] == "simulator"}
    assert len(threads) == 2


def test_without_a_session_the_program_is_as_it_was():
    command = [PROGRAM, "4", "10"]
    bare = subprocess.run(command, capture_output=True, text=True)
    preloaded = subprocess.run(command, capture_output=True, text=True,
                               env={**os.environ, "LD_PRELOAD": str(SPANS)})
    assert (preloaded.returncode, preloaded.stdout, preloaded.stderr) == (0, bare.stdout, "")


def test_a_function_that_no_library_has_is_told_by_name(tmp_path):
    source = tmp_path / "none.cc"
    source.write_text('#include "crosscut/interpose.h"\n'
                      "CROSSCUT_INTERPOSE_SYMBOL(CROSSCUT_DATA, int, load, \"_ZN4data4loadEi\",\n"
                      "                          (int x), (x));\n"
                      "int main() { return load(3); }\n")
    program = tmp_path / "none"
    subprocess.run(["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
                    source, "-o", program, CROSSCUT.parents[1] / "lib" / "libcrosscut.so.1",
                    "-ldl", f"-Wl,-rpath,{CROSSCUT.parents[1] / 'lib'}"], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 127 and "_ZN4data4loadEi" in done.stderr
