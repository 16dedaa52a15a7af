"""Tables of hostile traces beside their definition, and in each form beside each other. By seed."""

import collections
import csv
import io
import json
import os
import subprocess

import brute
import crosscut
import draws
import pytest
import hostile
from runs import CROSSCUT


@pytest.fixture
def path(tmp_path):
    """Of a name that is no text."""
    return os.fsencode(tmp_path) + b"/caf\xe9\xff.txt"


@pytest.fixture
def read(path):
    def of(drawn):
        with open(path, "wb") as file:
            file.write(hostile.text(drawn))
        return crosscut.read(path)
    return of


def column(table, name):
    cells = table[name]
    return list(cells)


def difference(name, want, got):
    missing, extra = list((want - got).elements()), list((got - want).elements())
    return f"{name}: missing {missing[:3]}, not expected {extra[:3]}" if missing or extra else ""


def wrong(run, drawn):
    """What differs from the definitions, "" for nothing."""
    processes, lives = run.table("processes"), run.table("thread_lives")
    labels = column(processes, "process")
    threads = list(zip(column(lives, "process"), column(lives, "thread")))
    for rows in (labels, threads):
        if len(set(rows)) != len(rows):
            return f"two of one label: {rows}"
    expected = brute.Scene(drawn, labels, [[thread for label, thread in threads if label == one]
                                           for one in labels])
    for name, of in brute.TABLES.items():
        columns, want = of(expected)
        table = run.table(name)
        got = collections.Counter(zip(*(column(table, each) for each in columns)))
        drop = brute.NOTHING.get(name)
        if drop:
            got = collections.Counter({key: n for key, n in got.items() if any(key[drop:])})
            want = collections.Counter({key: n for key, n in want.items() if any(key[drop:])})
        if said := difference(name, want, got):
            return said
    return ""


def test_tables_are_what_their_definition_says(read):
    draws.search(400, hostile.draw, lambda drawn: wrong(read(drawn), drawn), hostile.text)


FORMULA = tuple("=+-@\t\r")


def cell(text, value):
    """A cell of CSV beside the one in Python. A text that a spreadsheet would run has a quote."""
    if value is None:
        return text == ""
    if isinstance(value, float):
        return float(text) == pytest.approx(value, rel=1e-12, nan_ok=True)
    if isinstance(value, int):
        return text == str(value)
    return text == ("'" if value[:1] in FORMULA else "") + value


def printed(*words):
    return subprocess.run([CROSSCUT, "table", *words], capture_output=True, check=True,
                          timeout=600).stdout.decode()


def told(run, path):
    for name in run.tables():
        table = run.table(name)
        columns = {each: column(table, each) for each in table.columns}
        text = printed(path, name)
        rows = list(csv.reader(io.StringIO(text, newline="")))
        if rows and rows[0] != list(columns):
            return f"{name}: columns {rows[0]}"
        for i, row in enumerate(zip(*columns.values())):
            if len(rows) <= i + 1 or not all(map(cell, rows[i + 1], row)):
                return f"{name} as CSV: {rows[i + 1:i + 2]} for {row}"
        arrow = table.to_arrow()
        arrow.validate(full=True)
        if not same(arrow.to_pydict(), columns):
            return f"{name} in Arrow differs"
        if len(table.to_pandas()) != len(rows) - 1:
            return f"{name} in pandas: {len(table.to_pandas())} rows"
        found = json.loads(printed(path, name, "--format=json"), parse_constant=pytest.fail)
        if not same(found["columns"], columns) or found["rows"] != len(rows) - 1:
            return f"{name} in JSON differs"
    return ""


def same(one, other):
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(other, float):
        return one == pytest.approx(other, rel=1e-12, nan_ok=True)
    return one == other


def test_tables_are_the_same_in_every_form(read, path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    draws.search(2, hostile.draw, lambda drawn: told(read(drawn), path), hostile.text)
