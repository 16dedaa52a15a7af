"""A Kineto trace of several GB, plain and compressed: how quick it is read and how much memory that
takes, beside what its tables are; then with damage of several kinds, where all that is whole must
be there and the damage must be told. Prints one JSON line per value; what fails ends it.

Usage: import_large.py GIGABYTES CROSSCUT [FOLDER]

FOLDER takes the file, which is removed again: as many GB, and a tenth more for the compressed one.
"""

import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import harness
import kineto_trace

MIB = 1 << 20
FIXED = 32  # MiB that the program and its reader's buffers may take, whatever they read


class Trace:
    """The file, which knows what must be found in it."""

    def __init__(self, path, gigabytes):
        self.path = path
        sample = 20_000
        kineto_trace.write_trace(path, sample)
        self.events = kineto_trace.write_trace(path, int(gigabytes * 1e9 / path.stat().st_size
                                                         * sample))
        self.spans = self.events // kineto_trace.EVENTS_OF_STEP * kineto_trace.SPANS_OF_STEP

    def compressed(self):
        """In the place of the plain one."""
        packed = self.path.with_name(self.path.name + ".gz")
        with open(self.path, "rb") as plain, gzip.open(packed, "wb", compresslevel=1) as out:
            shutil.copyfileobj(plain, out, 16 * MIB)
        self.path.unlink()
        self.path = packed

    @contextlib.contextmanager
    def changed(self, at, new):
        """With other bytes there, for a while."""
        with open(self.path, "r+b") as file:
            file.seek(at)
            old = file.read(len(new))
            file.seek(at)
            file.write(new)
            file.flush()
            yield
            file.seek(at)
            file.write(old)

    @contextlib.contextmanager
    def cut(self, bytes_):
        """Without so much of its end, for a while."""
        size = self.path.stat().st_size
        with open(self.path, "r+b") as file:
            file.seek(size - bytes_)
            end = file.read()
            file.truncate(size - bytes_)
            yield
            file.seek(size - bytes_)
            file.write(end)

    def find(self, text, share):
        """Where that text stands behind a share of the file."""
        with open(self.path, "rb") as file:
            start = int(self.path.stat().st_size * share)
            file.seek(start)
            return start + file.read(MIB).index(text)


def expect(holds, *facts):
    if not holds:
        raise AssertionError(" ".join(map(str, facts)))


class Damage:
    """Reads damaged files and holds what is found against what is there."""

    def __init__(self, program, trace):
        self.program = program
        self.trace = trace

    def info(self, status=3):
        """Spans found, and what is said."""
        said = harness.measured([self.program, "info", self.trace.path], (status,))[2]
        return int(re.search(r"holds +([\d,]+) spans", said)[1].replace(",", "")), said

    def of_plain(self):
        trace = self.trace
        name = trace.find(b'"name": "void at::native', 0.5) + 12
        with trace.changed(name, b'"'):
            spans, said = self.info()
            expect(spans == trace.spans - 1, "unescaped quote:", spans, trace.spans)
            expect("1 event of the file cannot be read" in said, said)
            byte = int(re.search(r"first at byte (\d+)", said)[1])
            expect(name - 200 < byte < name, byte, name)
        # A forward call's arrow that never arrives: what is one of Kineto's else.
        arrow = trace.find(b'"ph": "s"', 0.5)
        with open(trace.path, "rb") as file:
            file.seek(arrow)
            cat = arrow + file.read(1000).index(b'"ac2g"')
        with trace.changed(cat, b'"fwbw"'):
            spans, said = self.info(0)
            expect(spans == trace.spans, "dangling arrow:", spans, trace.spans)
            expect("1 end of an arrow in the file has no other half" in said, said)
        with trace.changed(trace.path.stat().st_size - 3, b'x'):
            spans, said = self.info()
            expect(spans == trace.spans, "behind the events:", spans, trace.spans)
            expect("beside the events" in said, said)
        self.of_end(0.01)

    def of_end(self, missing):
        """Without that share of the file."""
        with self.trace.cut(int(self.trace.path.stat().st_size * missing)):
            spans, said = self.info()
        expect("The file is incomplete" in said, said)
        left = spans / self.trace.spans
        expect(1 - missing - 0.01 < left < 1 - missing + 0.01, "cut off:", left, missing)

    def of_compressed(self):
        trace = self.trace
        middle = trace.path.stat().st_size // 2
        with open(trace.path, "rb") as file:
            file.seek(middle)
            bits = file.read(1)[0] ^ 16
        with trace.changed(middle, bytes([bits])):
            spans, said = self.info()
            expect(spans > 0.48 * trace.spans, "flipped bit:", spans, trace.spans)
            expect("The file is incomplete" in said, said)
        self.of_end(0.3)


def main():
    gigabytes, program = float(sys.argv[1]), pathlib.Path(sys.argv[2])
    group = f"large: {gigabytes:g} GB of Kineto JSON"

    def tell(name, value, unit):
        print(json.dumps({"group": group, "name": name, "value": value, "unit": unit}), flush=True)

    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as folder:
        trace = Trace(pathlib.Path(folder) / "trace.json", gigabytes)
        tables = kineto_trace.table_bytes(trace.events) / MIB
        tell("events", trace.events / 1e6, "M")
        tell("its tables", tables, "MiB")

        def measure(kind):
            for verb in (["info", trace.path], ["table", trace.path, "device_timeline"]):
                seconds, mib, _, _ = harness.measured([program, *verb])
                what = f"{kind}, {verb[0]}"
                tell(what, trace.events / seconds / 1e6, "M events/s")
                tell(f"{what}: memory", mib, "MiB")
                tell(f"{what}: memory beyond {FIXED} MiB, of the tables",
                     (mib - FIXED) / tables, "x")

        damage = Damage(program, trace)
        measure("plain")
        damage.of_plain()
        trace.compressed()
        measure("compressed")
        damage.of_compressed()
        tell("kinds of damage not told, or that cost what was whole", 0, "")


if __name__ == "__main__":
    main()
