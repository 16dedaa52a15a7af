"""suites.py SUITE: programs of the kind that a sampler which trusts what it reads crashes.

`imports` loads modules of the standard library over and over, so that code objects come and go
while the sampler reads them. The others run tests of a package: many short calls, deep recursion,
exceptions and generators. Prints how many tests or rounds ran. Exit status 1: a test failed.
"""

import importlib
import pathlib
import sys
import time

MODULES = ["argparse", "csv", "decimal", "difflib", "email.message", "fractions", "http.client",
           "json.decoder", "pdb", "sqlite3", "tarfile", "unittest.case", "urllib.request",
           "xml.dom.minidom", "zipfile"]
TESTS = {
    "sympy": ["core/tests/test_assumptions.py", "core/tests/test_subs.py"],
    "networkx": ["algorithms/tests/test_dag.py", "algorithms/tests/test_cycles.py"],
    "sklearn": ["tests/test_base.py", "utils/tests/test_tags.py"],
}


def imports() -> int:
    """Two seconds of imports; the number of rounds."""
    end, rounds = time.monotonic() + 2, 0
    tops = {name.partition(".")[0] for name in MODULES}
    while time.monotonic() < end:
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[name]
        for name in MODULES:
            importlib.import_module(name)
        rounds += 1
    return rounds


def tests_of(package: str) -> int:
    """Runs the package's own tests; 0 if they passed."""
    import pytest
    folder = pathlib.Path(importlib.import_module(package).__file__).parent
    return pytest.main(["-q", "-x", "-p", "no:cacheprovider",
                        *(str(folder / name) for name in TESTS[package])])


if __name__ == "__main__":
    if sys.argv[1] == "imports":
        print(imports() > 0)
    else:
        sys.exit(tests_of(sys.argv[1]))
