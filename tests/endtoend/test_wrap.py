"""crosscut.wrap() and --wrap under the real recorder: what the tables say of wrapped code."""

import random
import subprocess

import pytest
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


# A game as atari_py has its own: a Python module whose native library is loaded by ctypes. HOW is
# where the module keeps the library; `other` loads one of its own.
GAME = """
int NAME_act(int action) { return action + 1; }
int NAME_reset(void) { return 0; }
int NAME_unused(void) { return 0; }
static int hidden(void) { return 1; }
int NAME_data = 1;
int NAME_calls_hidden(void) { return hidden(); }
"""
WAYS = {
    "a global": "lib = ctypes.CDLL(PATH)\ndef load(): return lib\n",
    "a class": "class Game:\n    lib = ctypes.cdll.LoadLibrary(PATH)\n"
               "def load(): return Game.lib\n",
    "an instance": "class Game:\n    def __init__(self): self.lib = ctypes.CDLL(PATH)\n"
                   "game = Game()\ndef load(): return game.lib\n",
    "a call": "import functools\n@functools.lru_cache(None)\n"
              "def load(): return ctypes.CDLL(PATH)\n",
    "a list": "libs = []\ndef load():\n    libs.append(ctypes.CDLL(PATH))\n    return libs[0]\n",
    "functions": "_lib = ctypes.CDLL(PATH)\ngame_act, game_reset = _lib.game_act, _lib.game_reset\n"
                 "import sys\ndef load(): return sys.modules[__name__]\n",
}


def build_games(folder, kept):
    for name in ("game", "other"):
        (folder / f"{name}.c").write_text(GAME.replace("NAME", name))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / f"lib{name}_c.so",
                        folder / f"{name}.c"], check=True)
    package = folder / "games"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for at, name, how in ((package, "game", WAYS[kept]), (folder, "other", WAYS["a global"])):
        (at / f"{name}_interface.py").write_text(
            f"import ctypes\nPATH = {str(folder / f'lib{name}_c.so')!r}\n{how}"
            f"def play(actions):\n    lib = load()\n    lib.{name}_reset()\n"
            f"    return sum(lib.{name}_act(a) for a in range(actions))\n")


@pytest.mark.parametrize("kept", WAYS)
def test_a_module_is_followed_to_the_library_that_it_loads(tmp_path, kept):
    build_games(tmp_path, kept)
    drawn = random.Random(kept)
    actions = drawn.randrange(2, 40)
    wrapped = drawn.choice(["games", "games.game_interface"])
    run = tmp_path / "run"
    done = record_script(run, f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from games import game_interface
import other_interface
assert other_interface.play({actions}) == game_interface.play({actions})
""", "--wrap", f"{wrapped}:simulator")
    assert done.returncode == 0, done.stderr
    functions = {row["name"]: (row["layer"], row["count"]) for row in table(run, "functions")
                 if "game_c" in row["name"] or "other_c" in row["name"]}
    assert functions == {"libgame_c.game_act": ("simulator", actions),
                         "libgame_c.game_reset": ("simulator", 1)}
    (said,) = [row for row in table(run, "sources") if row["name"] == "wrap"]
    assert (said["state"], said["message"]) == (
        "on", f"{wrapped} as simulator: calls of libgame_c.so")


def test_an_attribute_of_a_module_is_followed(tmp_path):
    build_games(tmp_path, "a global")
    run = tmp_path / "run"
    done = record_script(run, f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from games import game_interface
game_interface.play(3)
""", "--wrap", "games.game_interface.lib:simulator:.*_act")
    assert done.returncode == 0, done.stderr
    names = {row["name"]: row["count"] for row in table(run, "functions")}
    assert names.get("libgame_c.game_act") == 3 and "libgame_c.game_reset" not in names


def test_wrap_says_how_many_functions_it_wraps(tmp_path):
    build_games(tmp_path, "a global")
    run = tmp_path / "run"
    done = record_script(run, f"""
import ctypes, sys
sys.path.insert(0, {str(tmp_path)!r})
import crosscut
assert crosscut.wrap("libgame_c.so") == 0, "it is not loaded yet"
from games import game_interface
library = game_interface.lib
for thing in (library, game_interface, "games", "libgame_c.so", {str(tmp_path / 'libgame_c.so')!r}):
    print(crosscut.wrap(thing, layer="simulator"), end=" ")
    print(crosscut.wrap(thing, layer="simulator", names=".*_(act|reset)"), end=" ")
print(crosscut.wrap(library.game_act), crosscut.wrap(ctypes.CDLL("libm.so.6"), names="cosh?"))
""")
    assert done.returncode == 0, done.stderr
    # _init and _fini are the file's, too, where the linker exports them.
    counts = list(map(int, done.stdout.split()))
    assert counts[-2:] == [1, 2]
    for all_of_it, chosen in zip(counts[:-2:2], counts[1:-2:2]):
        assert all_of_it in (4, 6) and chosen == 2, counts
