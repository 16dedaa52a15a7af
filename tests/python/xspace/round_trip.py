"""Spaces made, parsed and serialised by protobuf's own classes, beside what our reader and writer
make of them. Runs in a Python with TensorFlow; ends with 1 and a diff where the two differ.

Usage: round_trip.py TOOL FOLDER generated COUNT | round_trip.py TOOL FOLDER file PATH
"""

import difflib
import importlib.util
import pathlib
import random
import struct
import subprocess
import sys

KINDS = ("double_value", "uint64_value", "int64_value", "str_value", "bytes_value", "ref_value")
NAMES = ("", "op", "Iterator::Root", "a/b:MatMul", "räksmörgås", "名前", "x" * 300, "with space")


def load_classes():
    """The module xplane_pb2 alone: TensorFlow itself takes seconds to import."""
    home = importlib.util.find_spec("tensorflow").submodule_search_locations[0]
    path = pathlib.Path(home) / "tsl" / "profiler" / "protobuf" / "xplane_pb2.py"
    spec = importlib.util.spec_from_file_location("xplane_pb2", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


XPLANE = load_classes()


def number(chance, low, high):
    return chance.choice((0, 1, low, high, chance.randint(low, high), chance.randint(-9, 9) % high))


class Generator:
    """Random spaces. `written`: only what our writer writes."""

    def __init__(self, seed, written):
        self.chance = random.Random(seed)
        self.written = written

    def space(self):
        space = XPLANE.XSpace()
        for _ in range(self.chance.randint(0, 4)):
            self.plane(space.planes.add())
        for texts in (space.errors, space.warnings, space.hostnames):
            texts.extend(self.chance.choice(NAMES) for _ in range(self.chance.randint(0, 2)))
        return space

    def plane(self, plane):
        plane.id = number(self.chance, -2**63, 2**63 - 1)
        plane.name = self.chance.choice(NAMES)
        ids = [number(self.chance, -2**63, 2**63 - 1) for _ in range(self.chance.randint(1, 6))]
        for which in (plane.event_metadata, plane.stat_metadata):
            for i in ids:
                which[i].id = i
                which[i].name = self.chance.choice(NAMES)
                if which is plane.event_metadata and not self.written:
                    which[i].display_name = self.chance.choice(NAMES)
                    self.stats(which[i].stats, ids)
        if not self.written:
            ids.append(4711)  # resolved by nothing
        self.stats(plane.stats, ids, ("int64_value", "str_value") if self.written else KINDS)
        for _ in range(self.chance.randint(0, 3)):
            self.line(plane.lines.add(), ids)

    def line(self, line, ids):
        line.id = number(self.chance, -2**63, 2**63 - 1)
        line.name = self.chance.choice(NAMES)
        line.timestamp_ns = number(self.chance, -2**62, 2**62)
        if not self.written:
            line.display_name = self.chance.choice(NAMES)
            line.display_id = number(self.chance, -2**63, 2**63 - 1)
            line.duration_ps = number(self.chance, 0, 2**62)
        for _ in range(self.chance.randint(0, 8)):
            event = line.events.add()
            event.metadata_id = self.chance.choice(ids)
            event.duration_ps = number(self.chance, 0, 2**62)
            if not self.written and self.chance.random() < 0.3:
                event.num_occurrences = number(self.chance, 0, 2**40)
            else:
                event.offset_ps = number(self.chance, -2**62, 2**62)
            self.stats(event.stats, ids)

    def stats(self, stats, ids, kinds=KINDS):
        if self.written:
            kinds = [kind for kind in kinds if kind != "bytes_value"]
        for _ in range(self.chance.randint(0, 3)):
            stat = stats.add()
            stat.metadata_id = self.chance.choice(ids)
            kind = self.chance.choice(kinds)
            if kind == "double_value":
                stat.double_value = self.chance.choice((0.0, -1.5, 1e300, self.chance.random()))
            elif kind in ("str_value", "bytes_value"):
                text = self.chance.choice(NAMES)
                setattr(stat, kind, text if kind == "str_value" else text.encode())
            elif kind == "ref_value":
                stat.ref_value = self.chance.choice(ids) % 2**64
            else:
                low = 0 if kind == "uint64_value" else -2**63
                setattr(stat, kind, number(self.chance, low, 2**64 - 1 if not low else 2**63 - 1))


def hexed(text):
    return (text if isinstance(text, bytes) else text.encode()).hex()


def signed(value):
    return value - 2**64 if value >= 2**63 else value


class Shown:
    """What protobuf finds in a space, in the words of xspace_tool."""

    def __init__(self, space):
        self.lines = []
        for plane in space.planes:
            self.plane(plane)
        for word, texts in (("error", space.errors), ("warning", space.warnings),
                            ("hostname", space.hostnames)):
            self.lines += [f"{word} {hexed(text)}" for text in texts]

    def plane(self, plane):
        self.lines.append(f"plane {plane.id} {hexed(plane.name)}")
        self.stats(" stat ", plane, plane.stats)
        for line in plane.lines:
            self.lines.append(f" line {line.id} {line.display_id} {hexed(line.name)} "
                              f"{hexed(line.display_name)} {line.timestamp_ns} {line.duration_ps}")
            for event in line.events:
                self.event(plane, event)

    def event(self, plane, event):
        known = plane.event_metadata.get(event.metadata_id, XPLANE.XEventMetadata())
        aggregated = event.WhichOneof("data") == "num_occurrences"
        when = f"times {event.num_occurrences}" if aggregated else f"at {event.offset_ps}"
        self.lines.append(f"  event {hexed(known.name)} {hexed(known.display_name)} {when} "
                          f"{event.duration_ps}")
        self.stats("   of all ", plane, known.stats)
        self.stats("   stat ", plane, event.stats)

    def stats(self, indent, plane, stats):
        for stat in stats:
            self.lines.append(f"{indent}{hexed(self.name(plane, stat.metadata_id))} "
                              f"{self.value(plane, stat)}")

    @staticmethod
    def name(plane, number):
        found = plane.stat_metadata.get(number)
        return found.name if found is not None else ""

    def value(self, plane, stat):
        kind = stat.WhichOneof("value")
        if kind is None:
            return "none"
        value = getattr(stat, kind)
        if kind == "double_value":
            return f"double {struct.unpack('<Q', struct.pack('<d', value))[0]}"
        if kind == "ref_value":
            return f"ref {hexed(self.name(plane, signed(value)))}"
        if kind in ("str_value", "bytes_value"):
            return f"{'text' if kind == 'str_value' else 'bytes'} {hexed(value)}"
        return f"{kind.removesuffix('_value')} {value}"


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[1]}: {done.stderr}")
    return done.stdout


def compare(what, ours, theirs):
    if ours != theirs:
        diff = list(difflib.unified_diff(theirs, ours, "protobuf", "ours", lineterm=""))
        sys.exit("\n".join([f"{what} differs:", *diff[:40]]))


def check_reading(tool, files):
    """Our reader finds what protobuf finds."""
    shown = run(tool, "dump", *files).split("----\n")
    for file, text in zip(files, shown, strict=False):
        space = XPLANE.XSpace.FromString(file.read_bytes())
        compare(file.name, text.splitlines(), Shown(space).lines)


def check_writing(tool, file):
    """Protobuf finds in what our writer wrote what stood in the file before."""
    out = file.with_suffix(".again")
    run(tool, "rewrite", file, out)
    before, after = (XPLANE.XSpace.FromString(f.read_bytes()) for f in (file, out))
    compare(f"{file.name}, written again", Shown(after).lines, Shown(before).lines)
    for plane in after.planes:
        for found in (plane.event_metadata, plane.stat_metadata):
            # It may be empty: a plane without metadata.
            assert all(key == value.id != 0 for key, value in found.items())


def check_passing_on(tool, file):
    """Protobuf finds in planes that were passed on what was in them."""
    out = file.with_suffix(".passed")
    run(tool, "pass", file, out)
    before, after = (XPLANE.XSpace.FromString(f.read_bytes()) for f in (file, out))
    for space in (before, after):
        space.DiscardUnknownFields()
    if list(after.planes) != list(before.planes):
        compare(f"{file.name}, passed on", *(str(list(space.planes)).split("\n")
                                             for space in (after, before)))


def generated(tool, folder, count):
    files = []
    for seed in range(count):
        written = seed % 4 == 0
        file = folder / f"space-{seed}.pb"
        file.write_bytes(Generator(seed, written).space().SerializeToString())
        files.append(file)
        check_writing(tool, file) if written else check_passing_on(tool, file)
    for at in range(0, count, 100):
        check_reading(tool, files[at:at + 100])


def one_file(tool, folder, path):
    """A real file: as it is, and serialised again by protobuf."""
    again = folder / "again.pb"
    again.write_bytes(XPLANE.XSpace.FromString(path.read_bytes()).SerializeToString())
    check_reading(tool, [path])
    check_reading(tool, [again])
    check_passing_on(tool, again)
    if run(tool, "dump", path) != run(tool, "dump", again):
        sys.exit("serialised again it reads otherwise")


if __name__ == "__main__":
    tool, folder, mode, argument = sys.argv[1:]
    if mode == "generated":
        generated(tool, pathlib.Path(folder), int(argument))
    else:
        one_file(tool, pathlib.Path(folder), pathlib.Path(argument))
    print("same")
