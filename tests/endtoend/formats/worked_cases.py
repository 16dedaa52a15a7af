"""Traces as lists of intervals, read through the public verbs, and what they must add up to.

A trace is written as the text that Crosscut reads (src/trace/text.h): each category of a process is
a thread of its own, so categories overlap as they like, and operations stand on the main thread.
"""

import itertools

import crosscut
from runs import table

# RL-Scope's categories -> layers.
LAYERS = {"Python": "python", "Backend": "framework", "CUDA": "runtime", "Simulator": "simulator",
          "Overhead": "overhead"}


class Process:
    """`window`: begin and end. `operations`: (name, begin, end), nested. `categories`: (name,
    [(begin, end), ...]); "GPU" is a stream of the device."""

    def __init__(self, name, window, operations=(), categories=()):
        self.name, self.window = name, window
        self.operations, self.categories = operations, list(categories)

    def text(self, number):
        begin, end = self.window
        lines = [f"process {self.name} pid={number} window={begin}..{end}",
                 f"thread main tid={number} main lead"]
        lines += [f"op {name} {b} {e}" for name, b, e in self.operations]
        for i, (category, spans) in enumerate(self.categories):
            if category == "GPU":
                lines.append(f"device gpu0 device=0 stream={i}")
                lines += [f"span kernel {b} {e} device" for b, e in spans]
            else:
                lines.append(f"thread {category} tid={1000 * number + i}")
                lines += [f"span {category} {b} {e} {LAYERS[category]}" for b, e in spans]
        return lines

    # The same by brute force: each elementary interval looked at on its own.
    def edges(self):
        spans = [span for _, spans in self.categories for span in spans]
        spans += [(b, e) for _, b, e in self.operations] + [self.window]
        begin, end = self.window
        return sorted({min(max(at, begin), end) for span in spans for at in span})

    def operation_at(self, at):
        """The innermost one: of those that are open, the one that began last."""
        name = ""
        for operation, b, e in self.operations:  # parents stand first
            if b <= at < e:
                name = operation
        return name

    def active_at(self, at):
        begin, end = self.window
        return frozenset(category for category, spans in self.categories
                         for b, e in spans if b <= at < e and begin <= at < end)


def write(path, processes):
    lines = ["# crosscut trace"]
    for number, process in enumerate(processes, 1):
        lines += process.text(number)
    path.write_text("\n".join(lines) + "\n")
    return path


def brute_overlap(process):
    """(operation, layers and perhaps "GPU") -> ns."""
    cells = {}
    for begin, end in itertools.pairwise(process.edges()):
        key = (process.operation_at(begin), process.active_at(begin))
        cells[key] = cells.get(key, 0) + end - begin
    return cells


def brute_concurrency(processes):
    """(processes at work on the host, processes that keep a device busy) -> ns."""
    cells = {}
    edges = sorted({edge for process in processes for edge in process.edges()})
    for begin, end in itertools.pairwise(edges):
        active = {process.name: process.active_at(begin) for process in processes}
        key = (frozenset(name for name, on in active.items() if on - {"GPU"}),
               frozenset(name for name, on in active.items() if "GPU" in on))
        cells[key] = cells.get(key, 0) + end - begin
    return cells


CATEGORY = {layer: category for category, layer in LAYERS.items()}


def categories(layers, device):
    return frozenset([CATEGORY[layer] for layer in layers.split("+") if layer] +
                     ["GPU"] * int(device))


def overlap(rows, process):
    """Table `overlap` of one process, keyed as brute_overlap()."""
    return {(row["operation"], categories(row["layers"], row["device"])): row["ns"]
            for row in rows if row["process"] == process}


def concurrency(rows):
    """Table `concurrency`, keyed as brute_concurrency()."""
    def names(cell):
        return frozenset(cell.split("+")) - {""}

    return {(names(row["host_processes"]), names(row["device_processes"])): row["ns"]
            for row in rows}


def by_command(path, name):
    """A table's rows by `crosscut table`."""
    return table(path, name)


def by_module(path, name):
    """A table's rows by crosscut.read()."""
    return list(crosscut.read(path).table(name).rows())
