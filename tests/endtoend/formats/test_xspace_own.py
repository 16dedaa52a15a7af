"""A run and its own XSpace say the same."""

from runs import crosscut, record_script, table

PROGRAM = """
import time, threading, crosscut
threading.Thread(target=time.sleep, args=(0.1,), name="beside").start()
for i in range(8):
    crosscut.step()
    with crosscut.operation("rest"):
        time.sleep(0.01)
    with crosscut.operation("work"):
        end = time.perf_counter() + 0.01
        while time.perf_counter() < end:
            pass
"""


def without(rows, *others):
    return [{key: value for key, value in row.items() if key not in others} for row in rows]


def test_times_operations_and_steps_come_back_and_what_does_not_is_told(tmp_path):
    run, space = tmp_path / "run", tmp_path / "x.xplane.pb"
    record_script(run, PROGRAM, "--plan=full")
    crosscut("export", run, "--to=xspace", "-o", space)
    for name in ("overlap", "operations", "layers", "steps", "critical_path"):
        was, again = table(run, name), table(space, name)
        others = [key for key in (was[0] if was else ()) if key.startswith("corrected")
                  or key in ("process", "overhead_ns", "begin_ns", "end_ns")]
        assert was and without(again, *others) == without(was, *others), name
    assert "so that no time is corrected" in crosscut("report", space)
