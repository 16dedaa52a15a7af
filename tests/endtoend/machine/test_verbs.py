"""Every verb under trouble: closed and full streams, names of any bytes, links, folders that nobody
may write to, a second command at the same time, a call that fails. Its exit status is the table's
(docs/command.md), it has no traceback, leaves no half file, and changes no input. By seed."""

import errno
import os
import random
import resource
import shutil
import subprocess
import tempfile

import draws
import pytest
import verbs
from verbs import GOOD, TROUBLE

ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE, errno.EROFS, errno.EDQUOT)
NOBODY = 65534
NAMES = [b"caf\xc3\xa9", b"\xff\xfe", b"a\nb", b"a b", b"'\"$(x)", b"\x1b[2J", b"\xed\xa0\x80",
         b"%s%n", b"a;b", b"\\", b"*", b"nul\x01"]
LONGEST = 255


class Case:
    """A verb with its input, and what it makes where nothing is in its way."""

    expected = {}  # by folder, verb and source

    def __init__(self, place, verb, source, draw):
        self.place, self.verb, self.source, self.draw = place, verb, source, draw
        ending = b"" if verb.ending == "/" else verb.ending.encode()
        self.out, self.ending = b"out" + ending, ending
        place.clear()
        key = place.folder, verb.name, source
        if key not in self.expected:
            done = self.run()
            assert done.returncode == GOOD, (verb.name, done.stderr)
            self.expected[key] = self.files(), done.stdout
            place.clear()
        self.whole, self.said = self.expected[key]

    def run(self, out=None, **more):
        return verbs.run(self.place.line(self.verb, self.source, out or self.out), self.place,
                         **more)

    def files(self):
        """By name, what is no folder. Those of Python's folders have other bytes each time."""
        return {name: what[1] if not self.verb.python else b""
                for name, what in verbs.seen(self.place.outputs).items() if what[1]}

    def judge(self, done, codes, before=None, incomplete=False):
        """What is wrong with how it ended: "" for nothing. `before`: files that lay there.
        `incomplete`: of what could not be read, the rest may be written, with a 3."""
        if said := verbs.wrong_with(done, codes):
            return said
        if verbs.seen(self.place.inputs) != self.place.before:
            return "an input changed"
        found, before = self.files(), before or {}
        if done.returncode == GOOD and {**before, **self.whole} != found:
            return f"exit 0, but there is {sorted(found)[:4]}"
        strange = [name for name, what in found.items()
                   if what not in (before.get(name), self.whole.get(name))]
        temporary = [name for name in found if b".crosscut-" in name]
        if strange and (self.verb.python or incomplete):
            strange = []
        return f"left {strange + temporary}" if strange + temporary else ""


# ---- troubles: each gives what is wrong, "" for nothing ----------------------------------------

def closed(*streams):
    def close():
        for stream in streams:
            os.close(stream)
    return close


def stream_closed(case):
    stream = case.draw.choice([(1,), (2,), (1, 2), (0,), (0, 1, 2)])
    done = case.run(preexec_fn=closed(*stream), stdout=None if 1 in stream else -1,
                    stderr=None if 2 in stream else -1)
    return case.judge(done, codes_of_stdout(case) if 1 in stream else (GOOD,))


def codes_of_stdout(case):
    """A result that cannot be written is 3; a verb that says nothing there does not know it."""
    return (TROUBLE,) if case.said else (GOOD,)


def stream_full(case):
    with open("/dev/full", "wb") as full:
        which = case.draw.choice([("stdout",), ("stderr",), ("stdout", "stderr")])
        done = case.run(**{name: full for name in which})
    return case.judge(done, codes_of_stdout(case) if "stdout" in which else (GOOD,))


def plain_locale(case):
    done = case.run(env={"LC_ALL": case.draw.choice(["C", "POSIX", "de_DE.ISO-8859-1"]),
                         "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii",
                         "PYTHONCOERCECLOCALE": "0"})
    if not case.verb.python and done.stdout != case.said:
        return f"says otherwise: {done.stdout[:300]}"
    return case.judge(done, (GOOD,))


def any_name(case):
    room = LONGEST - len(case.ending)
    name = case.draw.choice([case.draw.choice(NAMES), b"n" * room, b"\xc3\xa9" * (room // 2),
                             b"n" * (room + 1)])
    out = name + case.ending
    done = case.run(out=out)
    if len(out) > LONGEST:
        return case.judge(done, (TROUBLE, verbs.USAGE)) if case.verb.ending else ""
    renamed = {given.replace(case.out, out, 1) if given.startswith(case.out) else given: what
               for given, what in case.whole.items()}
    if case.verb.name == "baseline":
        return ""  # a name of a baseline has rules of its own
    case.whole = renamed
    return case.judge(done, (GOOD,))


def link(case):
    """Its output is a link: to a file, to nothing, to itself; or a file of two names."""
    if not case.verb.ending or case.verb.ending == "/":
        return ""
    place = os.fsencode(case.place.outputs)
    target = os.path.join(place, b"target")
    kind = case.draw.choice(["to a file", "to nothing", "to itself", "two names"])
    if kind != "to itself" and kind != "to nothing":
        with open(target, "wb") as file:
            file.write(b"old")
    path = os.path.join(place, case.out)
    if kind == "two names":
        os.link(target, path)
    else:
        os.symlink(case.out if kind == "to itself" else b"target", path)
    done = case.run()
    content = case.whole[case.out]
    want = {b"target": content, case.out: content if kind == "two names" else b"target"}
    if kind == "to itself":
        want = {case.out: case.out}
    if case.files() != want and not case.verb.python:
        return f"a link {kind}: {case.files()}"
    return verbs.wrong_with(done, (TROUBLE,) if kind == "to itself" else (GOOD,))


def onto_its_input(case):
    """Its output is what it reads, by its name, by a link, or a part of it."""
    if not case.verb.ending:
        return ""
    part = case.source / "run.json" if case.source.is_dir() else case.source
    path = os.path.join(os.fsencode(case.place.outputs), case.out)
    kind = case.draw.choice(["its name", "a hard link", "a link"])
    if kind == "a hard link":
        os.link(part, path)
    elif kind == "a link":
        os.symlink(part, path)
    done = case.run(out=os.fsencode(part) if kind == "its name" else path)
    if verbs.seen(case.place.inputs) != case.place.before:
        return f"{kind}: an input changed"
    # What is not there to be read by that name says so first.
    return verbs.wrong_with(done, (verbs.USAGE,)) and f"{kind}: {verbs.wrong_with(done, (2,))}"


def no_place(case):
    if not case.verb.ending:
        return ""
    out = case.draw.choice([b"nowhere/", b"file/", b"loop/"]) + case.out
    place = case.place.outputs
    (place / "file").write_text("a file")
    (place / "loop").symlink_to("loop")
    before = case.files()
    if case.verb.python and out.startswith(b"nowhere"):
        return ""  # they make the folders that their output lies in
    return case.judge(case.run(out=out), (TROUBLE,), before)


def not_ours(case):
    """Run by somebody who may write nothing here."""
    if os.geteuid() != 0 or not case.verb.ending or case.verb.python:
        return ""
    old = case.out if case.verb.ending != "/" and case.draw.random() < 0.5 else b""
    if old:
        (case.place.outputs / os.fsdecode(old)).write_text("old")
    before = case.files()
    done = case.run(user=NOBODY, group=NOBODY, env={"HOME": "/nonexistent"})
    return case.judge(done, (TROUBLE,), before)


def limited(case):
    """No file may be longer than this."""
    most = case.draw.choice([0, 1, 100, 4096])

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    if case.verb.python:  # Python's own files
        return ""
    return case.judge(case.run(preexec_fn=limit), (GOOD, TROUBLE))


def at_once(case):
    """Twice at the same time, with one output."""
    line = case.place.line(case.verb, case.source, case.out)
    options = {"cwd": case.place.outputs, "env": verbs.ENVIRONMENT, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    both = [subprocess.Popen(line, **options) for _ in range(2)]
    done = []
    for one in both:
        stdout, stderr = one.communicate(timeout=1200)
        done.append(subprocess.CompletedProcess(line, one.returncode, stdout, stderr))
    codes = (GOOD,) if case.verb.again and case.verb.ending != "/" else (GOOD, TROUBLE)
    if GOOD not in (one.returncode for one in done):
        return f"both failed: {done[0].stderr} {done[1].stderr}"
    return next(filter(None, (case.judge(one, codes) for one in done)), "")


def call_fails(case, library):
    """A call on a file of the output, or of the input, fails, or does but a part."""
    under = case.draw.choice([case.place.outputs, case.place.outputs, case.place.inputs])
    count = case.place.folder / "count"
    count.unlink(missing_ok=True)
    environment = {"LD_PRELOAD": str(library), "FAIL_UNDER": str(under), "FAIL_COUNT": str(count)}
    case.run(env=environment)
    calls = max(map(int, count.read_text().split()), default=0) if count.exists() else 0
    case.place.clear()
    if calls == 0:
        return ""
    before = {}
    if case.verb.again and case.verb.ending not in ("", "/") and case.draw.random() < 0.5:
        (case.place.outputs / os.fsdecode(case.out)).write_text("old")
        before = case.files()
    number, error = case.draw.randrange(1, calls + 1), case.draw.choice([*ERRORS, 0])
    done = case.run(env={**environment, "FAIL_AT": str(number), "FAIL_WITH": str(error)})
    where = "output" if under == case.place.outputs else "input"
    said = case.judge(done, (GOOD,) if error == 0 else (GOOD, TROUBLE), before, where == "input")
    return said and f"call {number} of {calls} on the {where}, error {error}: {said}"


def swapped(case, library):
    """While it runs, another folder takes the place of that of its output."""
    if case.verb.ending == "":
        return ""
    place = case.place
    out = os.fsencode(place.outputs) + b"/" + case.out
    other, old = place.folder / "other", place.folder / "out.old"
    other.mkdir()
    if case.verb.ending != "/":
        (other / os.fsdecode(case.out)).write_text("theirs")
    done = case.run(out=out, env={"LD_PRELOAD": str(library), "FAIL_UNDER": str(place.outputs),
                                  "FAIL_WITH": "-1", "FAIL_SWAP": str(other),
                                  "FAIL_AT": str(case.draw.randrange(1, 12))})
    found = [verbs.seen(folder) for folder in (place.outputs, old) if folder.exists()]
    for folder in (other, old):
        shutil.rmtree(folder, ignore_errors=True)
    left = [name for files in found for name in files if b".crosscut-" in name]
    if left or verbs.seen(place.inputs) != place.before:
        return f"left {left}"
    return verbs.wrong_with(done, (GOOD, TROUBLE))


def among_modules(case):
    """In the folder where it runs lie files that are called like modules of Python's and others."""
    for name in ("crosscut", "json", "numpy", "pyarrow", "queue", "tempfile"):
        (case.place.outputs / f"{name}.py").write_text("raise SystemExit('not a module')")
    before = case.files()
    return case.judge(case.run(), (GOOD,), before)


TROUBLES = [stream_closed, stream_full, plain_locale, any_name, link, no_place, not_ours, limited,
            at_once, onto_its_input]


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory() as folder:
        yield verbs.Place(folder)


@pytest.fixture(scope="module")
def library(place):
    if shutil.which("cc") is None:
        pytest.skip("no compiler for the library that makes calls fail")
    return verbs.compiled(place.folder)


# Seconds for each draw.
in_python = pytest.mark.skipif(not draws.SECONDS, reason="CROSSCUT_MACHINE_SECONDS is not set")


def search(count, place, chosen, tried):
    for seed in draws.seeds(count):
        draw = random.Random(seed)
        verb = draw.choice(chosen)
        case = Case(place, verb, draw.choice(place.sources_of(verb)), draw)
        trouble = draw.choice(tried)
        if said := trouble(case):
            raise AssertionError(f"seed {seed}: {case.verb.name} of {case.source.name}, "
                                 f"{trouble.__name__}: {said}")


def test_verbs_end_as_the_table_says(place):
    search(140, place, verbs.VERBS, TROUBLES)


@in_python
def test_verbs_in_python_end_as_the_table_says(place):
    for module in ("duckdb", "pyarrow", "matplotlib"):
        pytest.importorskip(module)
    search(0, place, verbs.PYTHONS, [*TROUBLES, among_modules])


@pytest.mark.parametrize("verb", verbs.PYTHONS, ids=lambda verb: verb.name)
def test_files_where_a_verb_in_python_runs_are_no_modules(place, verb):
    for module in ("duckdb", "pyarrow", "matplotlib"):
        pytest.importorskip(module)
    assert among_modules(Case(place, verb, place.inputs / "run", random.Random(0))) == ""


def test_a_call_that_fails_leaves_no_half(place, library):
    def call_fails_in_it(case):
        return call_fails(case, library)

    def swapped_in_it(case):
        return swapped(case, library)
    search(120, place, verbs.VERBS, [call_fails_in_it, call_fails_in_it, swapped_in_it])


@in_python
def test_a_call_that_fails_in_python_leaves_no_half(place, library):
    for module in ("duckdb", "pyarrow", "matplotlib"):
        pytest.importorskip(module)

    def call_fails_in_it(case):
        return call_fails(case, library)
    search(0, place, verbs.PYTHONS, [call_fails_in_it])
