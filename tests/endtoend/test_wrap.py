"""crosscut.wrap() and --wrap under the real recorder: what the tables say of wrapped code."""

from runs import ROOT, record_script, table
from test_adds_up import check_sums

LIBRARY = ROOT / "build" / "release" / "examples" / "libsimulator.so"
MICROSECONDS = 300

PROGRAM = f"""
import ctypes
import crosscut

Visit = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p)
library = ctypes.CDLL("{LIBRARY}")
library.sim_free.restype = None
library.sim_new.argtypes, library.sim_new.restype = [ctypes.c_double], ctypes.c_void_p
library.sim_step.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_long]
library.sim_step.restype = ctypes.c_double
library.sim_replay.argtypes = [ctypes.c_void_p, Visit, ctypes.c_void_p]
heights = []

@Visit
def visit(height, _):
    heights.append(sum(i * height for i in range(2000)))

WRAP
simulator = library.sim_new(9.81)
with crosscut.operation("fly"):
    for i in range(40):
        library.sim_step(simulator, 25.0 * (i % 2), {MICROSECONDS})
with crosscut.operation("replay"):
    library.sim_replay(simulator, visit, None)
UNWRAP
library.sim_step(simulator, 0.0, {MICROSECONDS})
print(len(heights), round(sum(heights), 6))
"""


def check(run, steps):
    check_sums(run)
    functions = {row["name"]: row for row in table(run, "functions")}
    step, replay = functions["libsimulator.sim_step"], functions["libsimulator.sim_replay"]
    assert (step["layer"], step["count"]) == ("simulator", steps)
    assert step["min_ns"] >= MICROSECONDS * 1000, "a step lasts as long as it was told to"
    assert (replay["layer"], replay["count"]) == ("simulator", 1)
    back = functions["callback"]
    assert (back["layer"], back["count"]) == ("python", 40)
    # The slices of native code and of Python called back are one another's complement.
    assert back["total_ns"] + replay["self_ns"] == replay["total_ns"]
    layers = {}
    for row in table(run, "overlap"):
        if row["operation"] == "replay":
            layers[row["layers"]] = layers.get(row["layers"], 0) + row["ns"]
    assert layers["simulator"] == replay["self_ns"]
    assert layers["python"] >= back["total_ns"]
    assert "libsimulator.sim_new" in functions and "libsimulator.sim_free" not in functions


def test_the_command_line_wraps_a_library(tmp_path):
    run = tmp_path / "run"
    text = PROGRAM.replace("UNWRAP", "").replace("WRAP", "")
    done = record_script(run, text, "--wrap", "libsimulator.so:simulator:sim_(new|step|replay)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("40 ")
    check(run, steps=41)
    (said,) = [row for row in table(run, "sources") if row["name"] == "wrap"]
    assert (said["state"], said["message"]) == ("on", "libsimulator.so as simulator: called")


def test_a_program_wraps_and_unwraps_a_library(tmp_path):
    run = tmp_path / "run"
    text = PROGRAM.replace("UNWRAP", "assert crosscut.unwrap(library) == 3").replace(
        "WRAP", 'crosscut.wrap(library, layer="simulator")')
    done = record_script(run, text)
    assert done.returncode == 0, done.stderr
    check(run, steps=40)


def test_a_module_that_has_nothing_native_is_told(tmp_path):
    run = tmp_path / "run"
    done = record_script(run, "import colorsys, math; math.sqrt(2)", "--wrap", "colorsys:data",
                         "--wrap", "math:native:sqrt|cos")
    assert done.returncode == 0, done.stderr
    (said,) = [row for row in table(run, "sources") if row["name"] == "wrap"]
    assert said["message"] == ("colorsys as data: nothing native found yet; "
                               "math as native: 2 functions")
    assert "math.sqrt" in {row["name"] for row in table(run, "functions")}
