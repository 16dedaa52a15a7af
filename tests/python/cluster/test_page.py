"""The page of a cluster: bounded, and the late rank stands out on its map."""

import base64
import json
import re

import numpy as np
import pyarrow as pa
from crosscut.cluster import dataset, merging, page
from crosscut.cluster.finish import finish
from synthetic import Job, partial_of, partials_of


def page_of(tmp_path, job, change=lambda partials: None):
    partials = partials_of(job)
    change(partials)
    whole = merging.merge(partials)
    dataset.write(tmp_path, whole, finish(whole))
    text = page.render(dataset.open_cluster(tmp_path))
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    return text, data


def cells_of(data, layer=0):
    raw = base64.b64decode(data["layers"][layer]["cells"])
    return np.frombuffer(raw, np.uint8).reshape(data["rows"], data["columns"])


def test_the_late_rank_stands_out(tmp_path):
    job = Job(ranks=8, steps=20, late=5)
    text, data = page_of(tmp_path, job)
    cells = cells_of(data)
    assert (data["rows"], data["columns"]) == (8, 20)
    assert (cells[5] > 200).all() and (np.delete(cells, 5, axis=0) < 20).all()
    assert "Rank 5" in text and "would take" in text
    assert "http" not in text.replace("http-equiv", "")


def test_many_ranks_and_steps_are_binned_and_none_is_lost(tmp_path):
    job = Job(ranks=300, per_host=8, steps=700, late=299, collectives=1)
    text, data = page_of(tmp_path, job)
    assert (data["rows"], data["columns"]) == (256, 512)
    assert (cells_of(data)[-1] > 200).all()  # the bin with the late rank in it
    assert data["ranks"][0] == 0 and data["ranks"] == sorted(data["ranks"])
    assert len(text) < 5 << 20


def test_steps_that_a_rank_does_not_have_are_told_apart(tmp_path):
    def shorten(partials):
        steps = partials[1].tables["steps"]
        partials[1].tables["steps"] = steps.slice(0, 5)

    _, data = page_of(tmp_path, Job(ranks=3, steps=10), shorten)
    assert (cells_of(data)[1] == 255).tolist() == [False] * 5 + [True] * 5
    assert (cells_of(data)[[0, 2]] != 255).all()


def test_names_stay_text(tmp_path):
    evil = "</script><img src=x onerror=alert(1)>"

    def rename(partials):
        for partial in partials:
            operations = partial.tables["operations"]
            at = operations.column_names.index("operation")
            names = pa.array([evil] * operations.num_rows)
            partial.tables["operations"] = operations.set_column(at, "operation", names)

    text, _ = page_of(tmp_path, Job(ranks=3, steps=10), rename)
    assert evil not in text and "&lt;img" in text


def test_the_number_of_a_restart_may_be_any(tmp_path):
    parts = [partial_of(Job(ranks=2), rank, restart=1 << 61) for rank in range(2)]
    _, data = page_of(tmp_path, Job(ranks=2), lambda partials: partials.__setitem__(
        slice(None), parts))
    assert data["rows"] == 2
