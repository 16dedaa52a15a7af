"""What every recorder of operators or of Python calls pays: callbacks and hooks that do nothing,
compiled for the PyTorch or the Python that runs this."""

import contextlib
import ctypes
import pathlib
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent / "build"
TOOL = 3  # an id for sys.monitoring that CPython names for nobody


def compiled(library, compiler, *arguments):
    """The path of that library, made anew."""
    library.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*compiler, "-O2", "-fPIC", "-shared", "-o", library, *arguments], check=True)
    return str(library)


def operators(inputs=False):
    """-> a context manager in which PyTorch calls callbacks that do nothing, for all operators.
    `inputs`: that want what an operator was called with."""
    import torch
    folder = pathlib.Path(torch.__file__).parent
    library = ctypes.CDLL(compiled(
        BUILD / "bench-torch" / "empty_callbacks.so", ["c++", "-std=c++20", "-DNDEBUG"],
        "-isystem", folder / "include", HERE / "empty_callbacks.cc", f"-L{folder / 'lib'}",
        "-ltorch_cpu", "-lc10"))

    @contextlib.contextmanager
    def empty_callbacks():
        library.empty_callbacks_on(int(inputs))
        try:
            yield
        finally:
            library.empty_callbacks_off()

    return empty_callbacks


def python_calls():
    """-> a context manager in which this thread's Python calls run a hook that does nothing, by
    the way that Crosscut takes in this version of CPython."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    library = ctypes.PyDLL(compiled(
        BUILD / "bench-python" / f"empty_hook{suffix}", ["cc"],
        "-isystem", sysconfig.get_path("include"), HERE / "empty_hook.c"))
    library.empty_callback.restype = ctypes.py_object

    @contextlib.contextmanager
    def empty_profile():
        library.empty_profile(1)
        try:
            yield
        finally:
            library.empty_profile(0)

    @contextlib.contextmanager
    def empty_monitoring():
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(TOOL, "floor")
        try:
            for event in (events.PY_START, events.PY_RETURN):
                sys.monitoring.register_callback(TOOL, event, library.empty_callback())
            sys.monitoring.set_events(TOOL, events.PY_START | events.PY_RETURN)
            yield
        finally:
            sys.monitoring.set_events(TOOL, 0)
            sys.monitoring.free_tool_id(TOOL)

    return empty_profile if sys.version_info < (3, 12) else empty_monitoring
