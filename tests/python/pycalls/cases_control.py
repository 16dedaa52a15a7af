"""Control steps take out the thunks that the program calls: each function runs in a process of its
own, in every interpreter that has a _pycalls (test_pycalls_control.py)."""

import gc
import random
import sys

import _conventions as c
import tape

pc = tape.pc
FUNCTIONS = ["noargs", "one", "varargs", "keywords", "fast", "fast_keywords"]
ARGUMENTS = {"one": (1,)}


class Before(c.Thing):
    pass


def _call(name):
    """The spans that calling it left: a function, or the slot of an instance of a type."""
    before = tape.words()
    if name in FUNCTIONS:
        getattr(c, name)(*ARGUMENTS.get(name, ()))
    else:
        {"Thing": c.Thing, "Before": Before}[name]()[1]
    return (tape.words() - before) // 2


def _patch():
    gc.disable()  # collections are spans, too
    pc.patch_module(c, "native")
    pc.patch_slots(c.Thing, "native", ["mp_subscript"])


def a_function_that_was_called_is_out_and_one_that_was_not_goes_at_its_first_call():
    _patch()
    tape.record(1)
    assert tape.set_level(1) == 0
    assert _call("one") == 1
    assert tape.control_step() == 0
    assert not pc.stats()["enabled"]
    assert [_call("one"), _call("noargs"), _call("noargs")] == [0, 0, 0]
    tape.set_level(1)
    assert [_call("one"), _call("noargs"), _call("varargs")] == [1, 1, 1]
    tape.control_step()
    tape.set_level(0)
    assert [_call(name) for name in FUNCTIONS] == [0] * len(FUNCTIONS)
    assert pc.stats()["foreign"] == 0


def a_step_that_is_left_out_records_no_call():
    _patch()
    tape.record(1)
    tape.set_level(1)
    assert _call("one") == 1
    tape.set_level(4)
    assert not pc.stats()["enabled"]
    assert [_call("one"), _call("noargs"), _call("noargs")] == [0, 0, 0]
    tape.set_level(1)
    assert [_call("one"), _call("noargs"), _call("varargs")] == [1, 1, 1]
    tape.set_level(4)
    tape.set_level(0)
    assert [_call(name) for name in FUNCTIONS] == [0] * len(FUNCTIONS)
    assert pc.stats()["foreign"] == 0


def a_slot_is_out_of_its_types_subclasses_too():
    _patch()
    tape.record(1)
    tape.set_level(1)
    tape.control_step()
    assert [_call("Before"), _call("Thing"), _call("Before")] == [0, 0, 0]
    tape.set_level(1)
    assert [_call("Before"), _call("Thing")] == [1, 1]


def any_order_of_levels_patches_and_calls_records_what_it_should():
    chance = random.Random(sys.version)
    tape.set_level(1)  # as every session begins
    for _ in range(150):
        tape.set_level(0)
        _patch()
        tape.record(1)
        claims = {key: {0} for key in [*FUNCTIONS, "slot"]}
        state = "out"
        for _ in range(80):
            action = chance.randrange(12)
            name = chance.choice([*FUNCTIONS, "Thing", "Before"])
            key = name if name in FUNCTIONS else "slot"
            if action < 3:
                state = chance.choice(["in", "idle", "out"])
                {"in": lambda: tape.set_level(1), "idle": tape.control_step,
                 "out": lambda: tape.set_level(0)}[state]()
            elif action == 3 and key != "slot":
                pc.patch_module(c, "native", names=[name], group=1)
                claims[key].add(1)
            elif action == 4:
                group = chance.choice([0, 1, 1])
                pc.remove_group(group)
                for own in claims.values():
                    own.discard(group)
            else:
                recorded = bool(claims[key]) and state == "in"
                assert _call(name) == recorded, (name, state, claims)
        pc.unpatch_all()
        assert [_call(name) for name in [*FUNCTIONS, "Before"]] == [0] * (len(FUNCTIONS) + 1)
        assert pc.stats()["foreign"] == 0
