"""Chains of `map`, `reduce` and what reads a cluster, under trouble: names of any bytes and of 254,
links, folders that nobody may write to, full streams, two at once, outputs that are inputs. By
seed."""

import os
import random
import shutil
import subprocess
import tempfile

import draws
import pytest
import verbs
from verbs import GOOD, TROUBLE, USAGE

NAMES = [b"plain", b"caf\xc3\xa9", b"\xff\xfe", b"a\nb", b"a b", b"'\"$(x)", b"\x1b[2J",
         b"\xed\xa0\x80", b"%s%n", b"-x", b"n" * 254, b"\xc3\xa9" * 127, b"*", b"[a]"]


def named(folder, name, ending):
    """A path of that name, cut off to 254 bytes with its ending."""
    ending = ending.encode()
    return os.path.join(os.fsencode(folder), name[:254 - len(ending)] + ending)


class Chain:
    """Commands one after the other in a folder. What one says is wrong is an assertion."""

    def __init__(self, place, draw):
        self.place, self.draw = place, draw
        place.clear()
        self.scratch = place.folder / "scratch"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        self.runs = [self.source(), self.source()]
        self.before = verbs.seen(place.folder / "sources")

    def source(self):
        """A run or a trace of its own, or a link to it, called anything."""
        draw, folder = self.draw, self.place.folder / "sources"
        number = len(os.listdir(folder))
        ending = draw.choice(["", "", ".json"])
        kept = os.fsencode(self.place.inputs / (
            ("run", "other")[number] + ("-trace.json" if ending else "")))
        (folder / str(number)).mkdir()
        path = named(folder / str(number), draw.choice(NAMES), ending)
        if draw.random() < 0.25:
            os.symlink(kept, path)
        else:
            (shutil.copyfile if ending else shutil.copytree)(kept, path)
        return path

    def do(self, codes, *words, before=(), **more):
        words = [*before, os.fsencode(verbs.CROSSCUT), *map(os.fsencode, words)]
        done = verbs.run(words, self.place, env={"TMPDIR": str(self.scratch)}, **more)
        return self.judge(words, done, codes)

    def twice(self, codes, *words):
        """At the same time."""
        words = [os.fsencode(verbs.CROSSCUT), *map(os.fsencode, words)]
        both = [subprocess.Popen(words, cwd=self.place.outputs, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**verbs.ENVIRONMENT, "TMPDIR": str(self.scratch)})
                for _ in range(2)]
        told = [one.communicate(timeout=1200) for one in both]
        for one, said in zip(both, told):
            self.judge(words, subprocess.CompletedProcess(words, one.returncode, *said), codes)

    def judge(self, words, done, codes):
        wrong = verbs.wrong_with(done, codes)
        assert not wrong, (words, wrong)
        left = [name for folder in (self.scratch, self.place.outputs) for name in verbs.seen(folder)
                if b".crosscut-" in name or b".new-" in name or folder == self.scratch]
        assert not left, (words, left)
        for folder, before in (("sources", self.before), ("in", self.place.before)):
            assert verbs.seen(self.place.folder / folder) == before, (words, "an input changed")
        return done


# ---- troubles of an output: each does the verb with it in its way, and leaves it as it was ------

def nothing(chain, verb, inputs, out):
    chain.do((GOOD,), verb, *inputs, "-o", out)


def at_once(chain, verb, inputs, out):
    chain.twice((GOOD,), verb, *inputs, "-o", out)


def full(chain, verb, inputs, out):
    """Only `reduce` has something to say on stdout."""
    stream = chain.draw.choice(["stdout", "stderr"])
    code = TROUBLE if (verb, stream) == ("reduce", "stdout") else GOOD
    with open("/dev/full", "wb") as device:
        chain.do((code,), verb, *inputs, "-o", out, **{stream: device})


def read_only(chain, verb, inputs, out):
    """The folder of the output: root may write to it unless that right is taken away."""
    plain = (shutil.which("setpriv"), "--bounding-set=-dac_override") if os.geteuid() == 0 else ()
    if None not in plain:
        before = verbs.seen(chain.place.outputs)
        chain.place.outputs.chmod(0o555)
        chain.do((TROUBLE,), verb, *inputs, "-o", out, before=plain)
        chain.place.outputs.chmod(0o755)
        assert verbs.seen(chain.place.outputs) == before
    nothing(chain, verb, inputs, out)


def in_the_way(chain, verb, inputs, out):
    """A file, a link to itself, to nothing or to a file has the name."""
    kind = chain.draw.choice(["file", "itself", "nothing", "link"])
    target = os.path.join(os.path.dirname(out), b"target")
    if kind in ("file", "link"):
        with open(out if kind == "file" else target, "wb") as file:
            file.write(b"theirs")
    if kind != "file":
        os.symlink(os.path.basename(out) if kind == "itself" else b"target", out)
    before = verbs.seen(chain.place.outputs)
    chain.do((TROUBLE,), verb, *inputs, "-o", out)
    assert verbs.seen(chain.place.outputs) == before, kind
    os.unlink(out)
    nothing(chain, verb, inputs, out)


def by_link(chain, verb, inputs, out):
    """The link stays, and leads to the result."""
    there = named(chain.place.outputs, b"there", verb)
    os.makedirs(there)
    os.symlink(os.path.basename(there), out)
    nothing(chain, verb, inputs, out)
    assert os.path.islink(out)


def onto_an_input(chain, verb, inputs, out):
    one = chain.draw.choice(inputs)
    if chain.draw.random() < 0.5:
        link = named(chain.place.outputs, b"in", verb)
        os.symlink(one, link)
        one = link
    before = verbs.seen(chain.place.outputs)
    chain.do((USAGE,), verb, *inputs, "-o", one)
    assert verbs.seen(chain.place.outputs) == before
    nothing(chain, verb, inputs, out)


TROUBLES = [nothing, at_once, full, read_only, in_the_way, by_link, onto_an_input]


@pytest.fixture(scope="module")
def place():
    pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    with tempfile.TemporaryDirectory() as folder:
        yield of_two(verbs.Place(folder))


def of_two(place):
    """With two runs, and the traces that they were made of."""
    (place.folder / "sources").mkdir()
    text = (place.inputs / "trace.json").read_text()
    (place.inputs / "run-trace.json").write_text(text)
    (place.inputs / "other-trace.json").write_text(text.replace("caf", "tea"))
    subprocess.run([verbs.CROSSCUT, "import", place.inputs / "other-trace.json", "-o",
                    place.inputs / "other"], check=True, capture_output=True)
    place.before = verbs.seen(place.inputs)
    return place


def processes(chain, cluster):
    done = chain.do((GOOD,), "table", cluster, "processes")
    return len(done.stdout.splitlines()) - 1


def chained(place, seed):
    draw = random.Random(seed)
    shutil.rmtree(place.folder / "sources")
    (place.folder / "sources").mkdir()
    chain = Chain(place, draw)
    store, cluster = (named(place.outputs, draw.choice(NAMES), ending)
                      for ending in (".store", ".cluster"))
    draw.choice(TROUBLES)(chain, "map", chain.runs[:1], store)
    draw.choice([nothing, at_once, full])(chain, "map", chain.runs[draw.randrange(2):], store)
    partials = verbs.seen(os.fsdecode(store) + "/.")
    draw.choice(TROUBLES)(chain, "reduce", [store], cluster)
    assert verbs.seen(os.fsdecode(store) + "/.") == partials, "the store changed"
    whole = verbs.seen(os.fsdecode(cluster) + "/.")
    draw.choice([nothing, at_once, full])(chain, "reduce", [store], cluster)
    assert verbs.seen(os.fsdecode(cluster) + "/.") == whole, "reduced again it is another"
    assert processes(chain, cluster) == 2, os.listdir(store)


def test_chains_of_map_and_reduce_end_as_the_table_says(place):
    for seed in draws.seeds(6):
        try:
            chained(place, seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from None
