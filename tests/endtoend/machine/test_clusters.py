"""Chains of `map`, `reduce` and what reads a cluster, under trouble: names of any bytes and of 254,
links, folders that nobody may write to, full streams, two at once, outputs that are inputs. By
seed."""

import os
import random
import shutil
import subprocess

import draws
import pytest
import verbs
from verbs import GOOD, TROUBLE, USAGE

NAMES = [b"plain", b"caf\xc3\xa9", b"\xff\xfe", b"a\nb", b"a b", b"'\"$(x)", b"\x1b[2J",
         b"\xed\xa0\x80", b"%s%n", b"-x", b"n" * 254, b"\xc3\xa9" * 127, b"*", b"[a]"]
NOBODY = 65534


class Chain:
    """Commands one after the other in a folder. What one says is wrong is an assertion."""

    def __init__(self, place, draw):
        self.place, self.draw = place, draw
        place.clear()
        self.scratch = place.folder / "scratch"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(mode=0o777)
        self.scratch.chmod(0o1777)
        self.runs = [self.source(), self.source()]
        self.before = verbs.seen(self.place.folder / "sources")

    def source(self):
        """A run or a trace of its own, or a link to it, called anything."""
        draw, folder = self.draw, os.fsencode(self.place.folder / "sources")
        kind = draw.choice(["run", "run", "trace.json"])
        name = draw.choice(NAMES)[:254 - len(b".json")] + (b".json" if kind != "run" else b"")
        path, number = os.path.join(folder, b"%d" % len(os.listdir(folder)), name), "first"
        os.makedirs(os.path.dirname(path))
        number = ("run", "other")[len(os.listdir(folder)) % 2]
        kept = os.fsencode(self.place.inputs / (number if kind == "run" else f"{number}.json"))
        if draw.random() < 0.25:
            os.symlink(kept, path)
        else:
            (shutil.copytree if kind == "run" else shutil.copyfile)(kept, path)
        return path

    def name(self):
        return os.path.join(os.fsencode(self.place.outputs), self.draw.choice(NAMES[:-1]) + b".d")

    def do(self, codes, *words, **more):
        environment = {"TMPDIR": str(self.scratch), **more.pop("env", {})}
        words = [os.fsencode(verbs.CROSSCUT), *map(os.fsencode, words)]
        done = verbs.run(words, self.place, env=environment, **more)
        return self.judge(words, done, codes)

    def twice(self, codes, *words):
        """At the same time."""
        words = [os.fsencode(verbs.CROSSCUT), *map(os.fsencode, words)]
        both = [subprocess.Popen(words, cwd=self.place.outputs, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**verbs.ENVIRONMENT, "TMPDIR": str(self.scratch)})
                for _ in range(2)]
        told = [one.communicate(timeout=240) for one in both]
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


def by_nobody(chain, verb, inputs, out):
    if os.geteuid() == 0:
        before = verbs.seen(chain.place.outputs)
        chain.do((TROUBLE,), verb, *inputs, "-o", out, user=NOBODY, group=NOBODY,
                 env={"HOME": "/nonexistent"})
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
    os.makedirs(out + b".there")
    os.symlink(os.path.basename(out) + b".there", out)
    nothing(chain, verb, inputs, out)
    assert os.path.islink(out)


def onto_an_input(chain, verb, inputs, out):
    one = chain.draw.choice(inputs)
    if chain.draw.random() < 0.5:
        os.symlink(one, out + b".in")
        one = out + b".in"
    folder = os.path.isdir(one)
    before = verbs.seen(chain.place.outputs)
    chain.do((USAGE,) if folder else (USAGE, TROUBLE), verb, *inputs, "-o", one)
    assert verbs.seen(chain.place.outputs) == before
    nothing(chain, verb, inputs, out)


TROUBLES = [nothing, at_once, full, by_nobody, in_the_way, by_link, onto_an_input]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    place = verbs.Place(tmp_path_factory.mktemp("clusters"))
    for folder in (place.folder, *place.folder.parents):
        if folder.stat().st_uid == os.geteuid() and "pytest" in str(folder):
            folder.chmod(0o755)
    (place.folder / "sources").mkdir()
    text = (place.inputs / "trace.json").read_text()
    (place.inputs / "run.json").write_text(text)
    (place.inputs / "other.json").write_text(text.replace("caf", "tea"))
    subprocess.run([verbs.CROSSCUT, "import", place.inputs / "other.json", "-o",
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
    store, cluster = chain.name() + b"store", chain.name()
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
    for seed in draws.seeds(8):
        try:
            chained(place, seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from None
