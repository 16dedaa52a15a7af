"""What seeing every Python call costs, beside a hook that does nothing (the floor, by the way that
Crosscut takes in this version), cProfile and VizTracer; any CPython from 3.10.

Run under `crosscut record --python=calls --control-steps=0`. Prints one JSON line per variant.
"""

import cProfile
import sys

import crosscut
import floors
import harness

COUNT = 400_000


def empty():
    pass


def loop():
    for _ in range(COUNT):
        empty()


calls = harness.per_item(loop, COUNT)


def with_crosscut():
    crosscut.resume()
    try:
        return calls()
    finally:
        crosscut.pause()


def with_floor(empty_hook):
    def measure():
        with empty_hook():
            return calls()
    return measure


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
                "a hook that does nothing": with_floor(floors.python_calls()),
                "cProfile": with_cprofile}
    try:
        import viztracer  # noqa: F401
        variants["VizTracer (no C calls)"] = with_viztracer
    except ImportError:
        pass
    version = ".".join(map(str, sys.version_info[:3]))
    for line in harness.interleave(f"Python call, {version}", variants, rounds, count=COUNT):
        print(line.to_json(), flush=True)
    crosscut.resume()


if __name__ == "__main__":
    main()
