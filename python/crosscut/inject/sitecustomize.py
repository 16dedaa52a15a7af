"""Brings Crosscut into a Python that `crosscut record` started, and then steps aside.

This folder is first on PYTHONPATH in recorded programs. Python imports this module at start-up in
the place of the user's own sitecustomize, which is found and run behind it. It must be harmless in
every Python from 2.7 on: it prints nothing, and what it raises is what the user's own
sitecustomize raises (an ImportError where there is none, which Python takes for "none").
"""
import sys


def _bring_in(folder):
    """Loads the package beside this folder and lets it record. Never raises."""
    try:
        import os
        import time

        begun = time.monotonic_ns() if hasattr(time, "monotonic_ns") else 0

        run = os.environ.get("CROSSCUT_RUN")
        if not run or "crosscut._inject" in sys.modules:
            return
        if sys.version_info < (3, 10) or sys.implementation.name != "cpython":
            note = {}
            with open(os.path.join(os.path.dirname(folder), "_note.py")) as source:
                exec(source.read(), note)
            note["leave"]("process %d is not recorded: Python %d.%d "
                          "(only CPython 3.10 to 3.15 is)\n"
                          % (os.getpid(), sys.version_info[0], sys.version_info[1]))
            return
        import _frozen_importlib as bootstrap
        import _frozen_importlib_external as external

        package = os.path.dirname(folder)
        if "crosscut" not in sys.modules:
            spec = external.spec_from_file_location(
                "crosscut", os.path.join(package, "__init__.py"),
                submodule_search_locations=[package])
            module = bootstrap.module_from_spec(spec)
            sys.modules["crosscut"] = module
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules["crosscut"]
                raise
        from crosscut import _inject

        _inject.install(begun)
    except BaseException:
        pass


def _step_aside(folder):
    """Takes this folder off sys.path: the program sees the path it would see without us."""
    import os

    def is_ours(entry):
        return isinstance(entry, str) and entry != "" and os.path.abspath(entry) == folder

    sys.path[:] = [entry for entry in sys.path if not is_ours(entry)]
    for entry in [entry for entry in sys.path_importer_cache if is_ours(entry)]:
        del sys.path_importer_cache[entry]


def _run_users_own():
    """Imports the sitecustomize that Python would have found without us."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except BaseException:
        # The import system wants to find the module that it is importing.
        if ours is not None:
            sys.modules["sitecustomize"] = ours
        raise


def _main():
    import os

    folder = os.path.dirname(os.path.abspath(__file__))
    _bring_in(folder)
    _step_aside(folder)


_main()
_run_users_own()
