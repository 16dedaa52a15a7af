"""The package under test: PYTHONPATH names it (make test), else the release build is taken."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import crosscut  # noqa: F401
except ImportError:
    sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
