"""Each table of a cluster, and each number of its report, against a plain account of random
jobs."""

import base64
import collections
import json
import re

import numpy as np
import pytest
import ranks
from account import Account, usual
from crosscut._read import shown_text
from crosscut.cluster import ledger, page, report, spec
from crosscut.cluster.partial import SHARD
from random_job import CLASSES, Job

SEEDS = range(12)


def said(account, tables, job):
    """The sentences and rows that a report must have, with one blank between words."""
    shards, rows = account.shards, list(account.ranks())
    hosts, steps = len({s.host for s in shards}), max((row["steps"] for row in rows), default=0)
    count = len({shards[n].rank for n in account.leads})
    yield (f"Job {job}: {count} rank{'s' * (count != 1)} on {hosts} host{'s' * (hosts != 1)}, "
           f"{len(shards)} process{'es' * (len(shards) != 1)}" + f", {steps} steps" * bool(steps))
    yield from verdict(account, tables, rows)
    for row in tables["stragglers"][:8]:
        yield (f"{row['rank']} {row['host']} {row['last_count']} "
               f"{ns(row['made_wait_in_steps_ns'])} {row['share_ppm'] / 10**4:.1f} % "
               f"{ns(row['waited_in_steps_ns'])} {row['grew_class'] or '-'}")
    for row in tables["rank_outliers"][:5]:
        what = "steps" if row["kind"] == "wall" else f"{row['kind']} {row['name']}"[:34]
        yield (f"{row['rank']} {row['host']} {what} {ns(row['ns'])} {ns(row['median_ns'])} "
               f"{ns(row['more_ns'])}")
    for row in tables["collectives"][:5]:
        last = "-" if row["last_rank"] is None else f"rank {row['last_rank']}"
        yield (f"{row['name'][:34]} {row['group'][:34]} {row['ranks']} {row['count']} "
               f"{ns(row['transfer_ns'])} {ns(row['waited_ns'])} {last}")
    calls = sum(row["calls"] for row in tables["unmatched"])
    if calls:
        reasons = sorted({row["reason"] for row in tables["unmatched"]})[:3]
        yield f"{calls:,} call{'s' * (calls != 1)} not compared: {'; '.join(reasons)}"
    for row in tables["operation_spread"][:5]:
        yield (f"{row['operation'] or '(none)'} {row['ranks']} {ns(row['p50_ns'])} "
               f"{ns(row['p99_ns'])} {ns(row['max_ns'])} rank {row['worst_rank']}")


def verdict(account, tables, rows):
    if not tables["stragglers"]:
        yield "Who waited for whom is not known: no collective was matched."
        return
    first = tables["stragglers"][0]
    if not first["made_wait_ns"]:
        yield "No rank waited for another in a collective."
        return
    in_steps = first["made_wait_in_steps_ns"]
    yield (f"Rank {first['rank']} (host {first['host']}) made the others wait "
           f"{ns(in_steps or first['made_wait_ns'])}{' in the steps' * bool(in_steps)}: "
           f"{first['share_ppm'] / 10**4:.0f} % of all waiting in collectives.")
    of_rank = next(row for row in rows if all(row[c] == first[c] for c in ("restart", "rank")))
    if first["saved_in_steps_ns"] and of_rank["marked_steps"]:
        spent, steps = of_rank["marked_steps_ns"], of_rank["marked_steps"]
        yield (f"a step would take {ns((spent - first['saved_in_steps_ns']) // steps)} instead of "
               f"{ns(spent // steps)}, at best.")
    if first["grew_class"]:
        yield f"In the compared steps it has {ns(first['grew_class_ns'])} more"
    if first["grew_operation"]:
        yield (f"Of its operations {first['grew_operation']} grew most: "
               f"{ns(first['grew_operation_ns'])} more than its peers.")
    waited = sum(m.waited for m in account.known if m.step is not None)
    spent = sum(row["marked_steps_ns"] for row in rows)
    if 0 < waited <= spent < 1 << 63:
        yield (f"All ranks together waited {ns(waited)} of the {ns(spent)} of their steps "
               f"({100 * waited / spent:.0f} %).")


def ns(number):
    return report.duration(number)


def words(text):
    return " ".join(shown_text(text).split())


def assert_map(account, data):
    """Each cell of the page's map is the most of its rank and step."""
    rows = [{**row, "rank": account.shards[row[SHARD]].rank,
             "restart": account.shards[row[SHARD]].restart} for row in account.rows[spec.STEPS]
            if account.shards[row[SHARD]].rank >= 0 and 1 <= row["level"] <= 3]
    restarts = collections.Counter(row["restart"] for row in rows)
    most = min(restarts, key=lambda restart: (-restarts[restart], restart), default=0)
    rows = [row for row in rows if row["restart"] == most]
    assert data["ranks"] == sorted({row["rank"] for row in rows})
    assert data["steps"] == sorted({row["step"] for row in rows})
    split = [row for row in rows if row["comm_ns"] is not None]
    own = [{**row, "ns": row["wall_ns"] - row["comm_ns"]} for row in split]
    shown = {"work beyond the median rank's": beyond(own),
             "step beyond the median rank's": beyond([{**r, "ns": r["wall_ns"]} for r in rows]),
             **{name.removesuffix("_ns"): [{**r, "ns": r[name]} for r in split]
                for name in CLASSES}}
    for layer in data["layers"]:
        cells = np.frombuffer(base64.b64decode(layer["cells"]), np.uint8).reshape(
            data["rows"], data["columns"])
        expected = np.full_like(cells, 255)
        for y, rank in enumerate(data["ranks"]):
            for x, step in enumerate(data["steps"]):
                of = [max(r["ns"], 0) for r in shown[layer["name"]]
                      if (r["rank"], r["step"]) == (rank, step)]
                if of:
                    expected[y, x] = min(max(of) * 254 // layer["top_ns"], 254)
        assert cells.tolist() == expected.tolist(), layer["name"]


def beyond(rows):
    by_step = collections.defaultdict(list)
    for row in rows:
        by_step[row["step"]].append(row["ns"])
    return [{**row, "ns": row["ns"] - usual(by_step[row["step"]])} for row in rows]


ORDERED = {"stragglers", "collectives", "straggler_steps", "cluster_path", "operation_spread",
           "rank_outliers", "missing", "ranks", "unmatched"}


def sorted_rows(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_number_is_that_of_a_plain_account(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(ledger, "_BLOCK_SHARDS", 1 + seed % 4)
    job = Job(seed)
    parts = list(job.dealt())
    code, cluster = ranks.reduce(tmp_path / "c", *ranks.written(tmp_path / "parts", parts))
    account = Account(job)
    assert code == (3 if account.missing() else 0)
    tables = {name: list(getattr(account, name)()) for name in sorted({*ORDERED, "functions"})}
    for name, expected in tables.items():
        found = cluster.table(name)
        columns = [c for c in found.column_names if not expected or c in expected[0]]
        left = set(expected[0] if expected else ()) - set(columns)
        assert not left, (name, left)
        rows = found.select(columns).to_pylist()
        if job.ties and name == "cluster_path" or job.ties and name == "stragglers":
            continue  # of several that ended at once, any may be taken for the one before
        if name not in ORDERED:
            rows, expected = sorted_rows(rows), sorted_rows(expected)
        assert rows == expected, name
    assert sorted(ranks.gaps_of(cluster)) == account.gaps()
    text = " ".join(report.text(cluster).split())
    lines = [words(line) for line in said(account, tables, job.name)]
    assert not [line for line in lines if line not in text]
    html = page.render(cluster)
    assert_map(account, json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1]))
