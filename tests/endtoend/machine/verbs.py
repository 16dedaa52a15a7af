"""Verbs under trouble: what each is told, what it writes, and what may come of it.

A Place is a folder with inputs, which nobody may change, and one for outputs. A trouble is how a
command is run there: its streams, its limits, the name of its output, a call that fails.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

from runs import CROSSCUT, PACKAGE

HERE = pathlib.Path(__file__).resolve().parent
GOOD, FINDING, USAGE, TROUBLE = 0, 1, 2, 3  # docs/command.md, exit codes
UNHEARD = ("Traceback", "Errno", "terminate called", "basic_string", "filesystem error",
           "Segmentation", "AddressSanitizer", "Exception")
EVENTS = [{"ph": "X", "name": f"caf\u00e9 {i % 3}", "cat": "cpu_op", "pid": 1, "tid": i % 2,
           "ts": 10 * i, "dur": 5} for i in range(40)]
EVENTS += [{"ph": "X", "name": f"ProfilerStep#{i}", "cat": "user_annotation", "pid": 1, "tid": 0,
            "ts": 100 * i, "dur": 90} for i in range(4)]


@dataclasses.dataclass(frozen=True)
class Verb:
    """`words`, with {} for the input and {out} for the output. `ending`: of its name, "/" for a
    folder, "" where it is stdout. `again`: what is there is replaced. `python`: how it is run."""

    name: str
    words: tuple
    ending: str
    again: bool = True
    python: bool = False


VERBS = [
    Verb("report", ("report", "{}", "-o", "{out}"), ".html"),
    Verb("report text", ("report", "{}"), ""),
    Verb("report json", ("report", "{}", "--format=json", "-o", "{out}"), ".txt"),
    Verb("report gz", ("report", "{}", "--format=html", "-o", "{out}"), ".html.gz"),
    Verb("table", ("table", "{}", "functions", "-o", "{out}"), ".csv"),
    Verb("table json", ("table", "{}", "functions", "--format=json"), ""),
    Verb("export", ("export", "{}", "--to=chrome", "-o", "{out}"), ".json"),
    Verb("export gz", ("export", "{}", "--to=perfetto", "-o", "{out}"), ".gz"),
    Verb("export xspace", ("export", "{}", "--to=xspace", "-o", "{out}"), ".pb"),
    Verb("export stdout", ("export", "{}", "--to=collapsed", "-o", "-"), ""),
    Verb("import", ("import", "{}", "-o", "{out}"), "/", again=False),
    Verb("info", ("info", "{}"), ""),
    Verb("diff", ("diff", "{}", "{}", "-o", "{out}"), ".json"),
    Verb("open", ("open", "{}", "-o", "{out}"), ".html"),
    Verb("runs", ("runs",), ""),
    Verb("help", ("help",), ""),
    Verb("completion", ("completion", "bash"), ""),
    Verb("baseline", ("baseline", "save", "{out}", "{}"), "", again=True),
]
PYTHONS = [
    Verb("map", ("map", "{}", "-o", "{out}"), "/", python=True),
    Verb("reduce", ("reduce", "{}", "-o", "{out}"), "/", python=True),
    Verb("plot", ("plot", "{}", "-o", "{out}"), "/", python=True),
    Verb("table parquet", ("table", "{}", "functions", "-o", "{out}"), ".parquet", python=True),
]


def seen(folder):
    """Every file below a folder with its mode and bytes, links as what they name."""
    out = {}
    for where, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            path = os.path.join(where, name)
            facts = os.lstat(path)
            what = (os.readlink(path) if os.path.islink(path) else
                    hashlib.sha256(open(path, "rb").read()).digest() if name in files else b"")
            out[os.path.relpath(path, os.fsencode(folder))] = (facts.st_mode, what)
    return out


class Place:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.inputs, self.outputs = self.folder / "in", self.folder / "out"
        self.inputs.mkdir()
        self.outputs.mkdir()
        (self.inputs / "trace.json").write_text(json.dumps(EVENTS))
        subprocess.run([CROSSCUT, "import", self.inputs / "trace.json", "-o", self.inputs / "run"],
                       check=True, capture_output=True)
        for folder in (self.folder, self.inputs, self.outputs):
            folder.chmod(0o755)
        self.before = seen(self.inputs)

    def sources_of(self, verb):
        """A run is imported already."""
        return [self.inputs / name for name in ("trace.json", "run")[:1 + (verb.name != "import")]]

    def clear(self):
        shutil.rmtree(os.fsencode(self.outputs), ignore_errors=True)
        self.outputs.mkdir()


    def line(self, verb, source, out):
        words = {"{}": os.fsencode(source), "{out}": os.fsencode(out)}
        return [os.fsencode(CROSSCUT), *(words.get(word, word.encode()) for word in verb.words)]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE), "NO_COLOR": "1", "BROWSER": "true",
               "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}


def run(line, place, **more):
    """The finished command, in the folder of outputs."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    options["env"] = {**ENVIRONMENT, **more.get("env", {})}
    return subprocess.run(line, cwd=place.outputs, timeout=1200, check=False,
                          stdin=subprocess.DEVNULL, **options)


def wrong_with(done, codes):
    """What no command may do, whatever happens to it."""
    said = (done.stderr or b"").decode("utf-8", "backslashreplace")
    if done.returncode not in codes:
        return f"exit {done.returncode}, not of {codes}: {said[:500]}"
    found = [word for word in UNHEARD if word in said]
    if found:
        return f"says {found[0]}: {said[-500:]}"
    told = said.strip() or done.stdout  # a report says in itself what is missing
    if done.returncode in (USAGE, TROUBLE) and done.stderr is not None and not told:
        return f"exit {done.returncode} without a word"
    return ""


def compiled(folder):
    """The library that makes a call fail; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    library = pathlib.Path(folder) / "failing.so"
    if compiler:
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", HERE / "failing.c", "-o", library,
                        "-ldl"], check=True)
    return library if compiler else None
