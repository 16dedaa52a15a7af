"""What seeing every Python call costs, beside a hook that does nothing (the floor, by the way that
Crosscut takes in this version), cProfile and VizTracer; any CPython from 3.10.

Run under `crosscut record --python=calls --control-steps=0`. Prints one JSON line per variant.
"""

import cProfile
import ctypes
import pathlib
import subprocess
import sys
import sysconfig

import crosscut
import harness

HERE = pathlib.Path(__file__).resolve().parent
COUNT = 50_000
FLOOR_TOOL = 3  # an id for sys.monitoring that CPython names for nobody


def empty():
    pass


def calls():
    begin = harness.cpu_ns()
    for _ in range(COUNT):
        empty()
    return (harness.cpu_ns() - begin) / COUNT


def with_crosscut():
    crosscut.resume()
    try:
        return calls()
    finally:
        crosscut.pause()


def empty_hook():
    """The hook that does nothing, compiled for this Python."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    library = HERE.parent / "build" / "bench-python" / f"empty_hook{suffix}"
    library.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-isystem", sysconfig.get_path("include"),
                    HERE / "empty_hook.c", "-o", library], check=True)
    hook = ctypes.PyDLL(str(library))
    hook.empty_callback.restype = ctypes.py_object
    return hook


def under(hook):
    def with_profile():
        hook.empty_profile(1)
        try:
            return calls()
        finally:
            hook.empty_profile(0)

    def with_monitoring():
        events = sys.monitoring.events
        wanted = events.PY_START | events.PY_RETURN
        sys.monitoring.use_tool_id(FLOOR_TOOL, "floor")
        try:
            for event in (events.PY_START, events.PY_RETURN):
                sys.monitoring.register_callback(FLOOR_TOOL, event, hook.empty_callback())
            sys.monitoring.set_events(FLOOR_TOOL, wanted)
            return calls()
        finally:
            sys.monitoring.set_events(FLOOR_TOOL, 0)
            sys.monitoring.free_tool_id(FLOOR_TOOL)

    return with_profile if sys.version_info < (3, 12) else with_monitoring


def with_cprofile():
    profile = cProfile.Profile()
    profile.enable()
    try:
        return calls()
    finally:
        profile.disable()


def with_viztracer():
    import viztracer
    tracer = viztracer.VizTracer(verbose=0, ignore_c_function=True, tracer_entries=COUNT * 4)
    tracer.start()
    try:
        return calls()
    finally:
        tracer.stop()
        tracer.clear()


def main():
    crosscut.pause()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    variants = {"unprofiled": calls, "unprofiled again (A/A)": calls, "crosscut": with_crosscut,
                "a hook that does nothing": under(empty_hook()), "cProfile": with_cprofile}
    try:
        import viztracer  # noqa: F401
        variants["VizTracer (no C calls)"] = with_viztracer
    except ImportError:
        pass
    version = ".".join(map(str, sys.version_info[:3]))
    for line in harness.interleave(f"Python call, {version}", variants, rounds):
        print(line.to_json(), flush=True)
    crosscut.resume()


if __name__ == "__main__":
    main()
