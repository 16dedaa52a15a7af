"""What people and programs read of a cluster folder."""

import gzip
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

import crosscut
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ranks
import synthetic
from crosscut.cluster import dataset, merging, partial, peers, reading, report, spec
from crosscut.cluster.finish import finish, joined
from crosscut._read import WrongUse
from crosscut.cluster.mapping import map_input
from crosscut.cluster.partial import SHARD
from crosscut.reading import every_row

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
JOB = synthetic.Job(ranks=64, per_host=8, steps=30, late=33)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("job") / "cluster")
    whole = merging.merge(synthetic.partials_of(JOB))
    dataset.write(path, whole, finish(whole))
    return dataset.open_cluster(path)


def test_commands_that_are_shown_can_be_pasted(tmp_path, capfd):
    path = tmp_path / "we'ird *[x] \x1b[31m$HOME"
    [part] = ranks.written(tmp_path / "parts", synthetic.partials_of(JOB)[:1])
    ranks.reduce(path, part)
    done = capfd.readouterr().out
    assert "\x1b" not in done and "␛" in done
    pasted = shlex.split(done.strip().partition("; next: ")[2].replace("␛", "\x1b"))
    assert pasted == ["crosscut", "report", str(path)]
    more = report.text(dataset.open_cluster(str(path)))
    assert f"More: crosscut table {shlex.quote(str(path))};".replace("\x1b", "␛") in more


def test_the_report_names_the_straggler_and_what_it_does_more(cluster):
    text = report.text(cluster)
    assert text.startswith("Job job7: 64 ranks on 8 hosts, 64 processes, 30 steps\n"
                           "Nothing is missing.\n")
    text = " ".join(text.split())
    assert "Rank 33 (host host00004) made the others wait 56.7 s in the steps: 100 % of all" in text
    assert "In the compared steps it has 900 ms more Python than its peers." in text
    assert "All ranks together waited 56.7 s of the 78.7 s of their steps (72 %)." in text


def test_the_report_has_sixty_lines_at_most(tmp_path):
    """With as much to say as there can be: gaps, missing ranks, outliers, groups, operations."""
    parts = synthetic.partials_of(JOB)
    for number, part in enumerate(parts[:50]):
        part.gaps = [partial.Gap(f"host{n}", f"sentence {n % 13} " + "long " * 60)
                     for n in range(number, number + 30)]
        part.tables[spec.LEDGER] = pa.concat_tables([
            part.tables[spec.LEDGER],
            part.tables[spec.LEDGER].set_column(
                1, "group", pa.array([f"group {number // 2}"] * 90).dictionary_encode())])
    whole = merging.merge(parts[:60])
    dataset.write(str(tmp_path / "c"), whole, finish(whole))
    text = report.text(dataset.open_cluster(str(tmp_path / "c")))
    assert 40 <= text.count("\n") <= report.MOST_LINES
    assert max(map(len, text.split("\n")[:-3])) <= 100  # the last one has the folder's path
    assert "! ranks 60 to 63 of 64 are missing" in text
    assert "! 7 more: crosscut info" in text and "5 of 26" in text


def test_every_query_of_the_page_runs_and_says_what_it_should(cluster, monkeypatch):
    queries = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    assert len(queries) >= 6
    monkeypatch.chdir(cluster.path)
    results = [duckdb.sql(query).fetchall() for query in queries]
    assert len(results) == len(queries) and all(results), "each of them has rows"
    slowest, hosts, steps, classes, operations, functions = results[:6]
    assert slowest[0][0] == JOB.late or len(slowest) == 10
    assert hosts[0][:2] == ("host00004", 8)
    assert [(step, rank) for step, rank, _ in steps] == [(n, 33) for n in range(JOB.steps)]
    assert [row[0] for row in classes] == list(range(JOB.steps))
    assert operations[0][0] == "load" and operations[0][4] == JOB.late
    assert len(functions) == 20


def test_the_schema_is_the_published_one(cluster):
    assert cluster.facts["tables"]
    for name, stated in cluster.facts["tables"].items():
        table = cluster.table(name)
        assert table.num_rows == stated["rows"]
        assert {f.name: str(f.type) for f in table.schema} == stated["columns"], name
        if name in ("steps", "collective_calls", "functions", "function_lengths"):
            [line] = [line for line in PAGE.split("\n") if line.startswith(f"| `{name}` |")]
            told = re.findall(r"`(\w+)`", line)[1:]
            front = [c for c in table.column_names if c not in ("step", *dataset.FRONT)]
            expected = front if name != "steps" else front[:len(front) - len(spec.STEP_CLASSES)]
            assert told[:len(expected)] == expected, name
    for name in ("ranks", "stragglers", "straggler_steps", "collectives", "unmatched",
                 "operation_spread", "rank_outliers", "missing"):
        assert f"| `{name}` |" in PAGE


def test_steps_and_calls_are_sorted_by_step_and_rank(cluster):
    for name in (spec.STEPS, spec.LEDGER):
        table = cluster.table(name)
        keys = list(zip(*(table.column(c).to_pylist() for c in ("step", "restart", "rank"))))
        assert keys == sorted(keys) and len(keys) > 1000


def test_classes_of_steps_add_up_to_their_length(cluster):
    rows = cluster.table(spec.STEPS).slice(0, 200).to_pylist()
    assert len(rows) == 200
    for row in rows:
        assert sum(row[name] for name, _ in spec.STEP_CLASSES) == row["wall_ns"]


def test_percentiles_of_merged_functions_are_within_their_ranges(cluster):
    rows = cluster.table("functions").to_pylist()
    lengths = {}
    for rank in range(JOB.ranks):
        for name in synthetic.functions_of(JOB, rank).column("name").to_pylist():
            lengths.setdefault(name, []).extend([10 + rank] + [900 + rank] * rank)
    for row in rows:
        of_name = sorted(lengths[row["name"]])
        for column, place in (("p50_ns", (len(of_name) + 1) // 2 - 1),
                              ("p99_ns", (len(of_name) * 99 + 99) // 100 - 1)):
            assert abs(row[column] - of_name[place]) <= 3, (row, of_name[place])


def run(verb, arguments, capfd):
    code = {"table": reading.main_table, "report": reading.main_report,
            "info": reading.main_info}[verb](arguments)
    return code, capfd.readouterr().out


def test_tables_are_printed_in_each_format(cluster, capfd, tmp_path):
    code, text = run("table", [cluster.path], capfd)
    assert code == 0 and re.search(r"^steps +1,920 rows$", text, re.MULTILINE)
    code, text = run("table", [cluster.path, "stragglers", "--limit", "1"], capfd)
    assert text.split("\n")[1].startswith("33,0,host00004,")
    _, text = run("table", [cluster.path, "ranks", "--format=json", "--where", "rank <= 2",
                            "--sort=-rank"], capfd)
    assert json.loads(text)["columns"]["rank"] == [2, 1, 0] and json.loads(text)["rows"] == 3
    file = str(tmp_path / "t.parquet")
    run("table", [cluster.path, "ranks", "--format=parquet", "-o", file], capfd)
    assert pq.read_table(file).num_rows == 64
    code = reading.main_table([cluster.path, "strugglers"])
    assert code == 2 and "stragglers" in capfd.readouterr().err


def test_texts_are_cells_of_csv_as_in_the_tables_of_a_run(cluster, capfdbinary):
    odd = ["=1+1", "@x", "-5", "a,b", 'say "so"', "two\nlines", "caf\u00e9", "", "plain"]
    table = pa.table({"name": odd, "n": [1, None, 2.5, 3, 4, 5, 6, 7, 8]})
    every = (1 << 63) - 1
    reading.as_of_run("odd", table).write("csv", ((), "", every), "-", [cluster.path])
    assert capfdbinary.readouterr().out.decode() == (
        'name,n\n"\'=1+1",1\n"\'@x",\n"\'-5",2.5\n"a,b",3\n"say ""so""",4\n'
        '"two\nlines",5\ncaf\u00e9,6\n,7\nplain,8\n')


def test_outputs_are_written_as_those_of_a_run(cluster, capfd, tmp_path):
    packed = tmp_path / "ranks.csv.gz"
    assert reading.main_table([cluster.path, "ranks", "-o", str(packed)]) == 0
    assert gzip.decompress(packed.read_bytes()).startswith(b"rank,")
    link = tmp_path / "link.json"
    link.symlink_to("target.json")
    assert reading.main_report([cluster.path, "--format=json", "-o", str(link)]) == 0
    assert link.is_symlink() and json.loads((tmp_path / "target.json").read_text())["ranks"] == 64
    for form in ("csv", "parquet"):
        part = pathlib.Path(cluster.path, "ranks", "00000.parquet")
        before = part.read_bytes()
        words = [cluster.path, "ranks", f"--format={form}", "-o", str(part)]
        assert reading.main_table(words) == 2
        assert "it is what is read" in capfd.readouterr().err and part.read_bytes() == before


REPORTS = ("import sys; from crosscut.cluster import reading; "
           "sys.exit(reading.main_report(sys.argv[1:]))")


@pytest.mark.parametrize("stdout", ["ascii", "closed"])
def test_a_stdout_of_any_kind_is_written(tmp_path, stdout):
    parts = synthetic.partials_of(synthetic.Job(ranks=2, per_host=2, steps=5))
    for part in parts:
        part.job = "größer"
    ranks.reduce(tmp_path / "cluster", *ranks.written(tmp_path / "parts", parts))
    close = ["sh", "-c", 'exec "$@" >&-', "sh"] if stdout == "closed" else []
    done = subprocess.run([*close, sys.executable, "-c", REPORTS, tmp_path / "cluster"],
                          capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    if stdout == "closed":  # as of a run
        assert done.returncode == 3 and done.stderr == b"crosscut: stdout: Bad file descriptor\n"
    else:
        assert done.returncode == 0 and done.stdout.startswith("Job größer: ".encode())


def test_a_report_as_json_has_the_numbers_of_the_text(cluster, capfd):
    _, text = run("report", [cluster.path, "--format=json"], capfd)
    whole = json.loads(text)
    assert whole["tables"]["stragglers"][0]["rank"] == 33 and whole["ranks"] == 64
    code, text = run("info", [cluster.path], capfd)
    assert code == 0 and "host host00007: 8 ranks, 8 processes\n" in text


@pytest.mark.parametrize("condition,same", [
    ("wall_ns > 40.5ms", "wall_ns > 40500000"), ("rank = 3", "rank = 3"),
    ("host ~ 0007", "contains(host, '0007')"), ("host != host00007", "host != 'host00007'"),
    ("step < 2", "step < 2"), ("rank >= 62.5", "rank >= 62.5")])
def test_conditions_select_the_rows_that_sql_selects(cluster, condition, same):
    steps = cluster.table(spec.STEPS)
    got = reading.as_of_run("steps", steps).select([condition], "-rank", every_row)
    expected = duckdb.sql(f"SELECT * FROM steps WHERE {same}").to_arrow_table()
    assert len(got) == expected.num_rows > 0
    assert got["rank"] == sorted(expected.column("rank").to_pylist(), reverse=True)


@pytest.mark.parametrize("condition", ["rank", "rank = many", "nothing = 3", "host < a",
                                       "rank = 3ms"])
def test_what_is_no_condition_is_refused(cluster, condition):
    with pytest.raises(WrongUse):
        reading.as_of_run("steps", cluster.table(spec.STEPS)).select([condition], "", every_row)


def test_a_table_of_a_cluster_has_all_its_cells_in_the_types_of_a_run():
    """In pieces, sliced, with nulls, in every type that a cluster has."""
    some = random.Random(4)

    def cells(make, size):
        return [None if some.random() < 0.3 else make() for _ in range(size)]

    kinds = {"int32": (pa.int32(), lambda: some.randrange(-2**31, 2**31)),
             "int64": (pa.int64(), lambda: some.randrange(-2**63 + 1, 2**63)),
             "bool": (pa.bool_(), lambda: some.random() < 0.5),
             "real": (pa.float64(), some.random), "text": (pa.string(), lambda: some.choice("ab€")),
             "code": (pa.dictionary(pa.int32(), pa.string()), lambda: "x" * some.randrange(9))}
    for _ in range(20):
        sizes = [some.randrange(70) for _ in range(some.randrange(1, 4))]
        table = pa.concat_tables(
            pa.table({name: pa.array(cells(make, size + 5), kind)
                      for name, (kind, make) in kinds.items()}).slice(some.randrange(5), size)
            for size in sizes)
        got = reading.as_of_run("any", table)
        for name in kinds:
            text = name in ("text", "code")
            expected = [("" if text else None) if cell is None else cell
                        for cell in table.column(name).to_pylist()]
            assert got[name] == expected, name


def test_the_specification_names_tables_and_columns_that_there_are(tmp_path):
    run = crosscut.read(ranks.trace_of(tmp_path, 0))
    there = run.tables()
    for name in (*spec.UNION, *spec.OF_RUN):
        assert name in there, name
        assert ("process" in run.table(name).columns) == (name in spec.UNION), name
    for name, sums in spec.SUMS.items():
        columns = run.table(name).columns
        assert "process" not in columns, name
        assert {*sums.key, *sums.add, *sums.least, *sums.most} <= set(columns), name
    assert set(spec.STEP_COLUMNS) <= set(run.table("steps").columns)
    elsewhere = {"steps", "spans", "device_events", "device_waits", "critical_path_segments",
                 "samples", "lines", "operator_stacks", "memory_events", "memory_timeline",
                 "utilization", "step_metrics", "step_operators", "step_layers", "transitions",
                 "kernel_metrics", "windows", "stragglers", "straggler_steps", "collectives",
                 "unmatched_collectives", "facts", spec.LEDGER}
    known = {*spec.UNION, *spec.OF_RUN, *spec.SUMS, *elsewhere}
    assert set(there) <= known, "say in spec.py whether a new table is bounded"


def test_mapping_takes_all_rows_of_a_process_as_they_are(tmp_path):
    path = ranks.trace_of(tmp_path, 3)
    part, run = map_input(path), crosscut.read(path)
    [shard] = part.shards
    assert (shard.rank, shard.world, shard.leads, shard.host) == (3, 4, True, "unknown")
    for name in ("operations", "overlap", "processes", "step_summary"):
        rows = [{k: v for k, v in row.items() if k != "process"} for row in run.table(name).rows()]
        got = [{k: v for k, v in row.items() if k != partial.SHARD}
               for row in part.tables[name].to_pylist()]
        assert got == rows and rows, name
    steps = part.tables[spec.STEPS].to_pylist()
    assert [(row["framework_ns"], row["other_ns"], row["wall_ns"]) for row in steps] == [
        (300, 600, 900)] * 3


def test_children_of_a_rank_have_its_rank_and_do_not_lead(tmp_path):
    path = ranks.trace_of(tmp_path, 2, more="process loader pid=9 parent=r2 window=0..50\n"
                                            "process other pid=10 window=0..50\n")
    shards = {shard.process.split("@")[0]: shard for shard in map_input(path).shards}
    assert (shards["loader"].rank, shards["loader"].leads) == (2, False)
    assert (shards["other"].rank, shards["other"].leads) == (-1, False)
    _, cluster = ranks.reduce(tmp_path / "c", path)
    processes = {row["process"].split("@")[0]: row["rank"]
                 for row in cluster.table("processes").to_pylist()}
    assert processes == {"r2": 2, "loader": 2, "other": None}
    assert cluster.facts["missing"] == [[0, 1], [3, 3]]


def test_outliers_and_what_grew_are_beside_the_other_ranks():
    def figure(rank, ns):
        return peers.Figure(0, "", rank, "class", "python", ns)

    two = {e.figure.rank: e for e in peers.excesses([figure(0, 100), figure(1, 170)])}
    assert (two[1].median_ns, two[1].more_ns, two[1].unusual) == (100, 70, False)
    assert (two[0].median_ns, two[0].more_ns) == (170, -70)
    many = list(peers.excesses([figure(rank, 100 + rank % 3) for rank in range(20)]
                               + [figure(20, 500)]))
    assert [e.figure.rank for e in peers.outliers(many)] == [20]
    assert peers.grew_most(many, "class")[0, 20].more_ns == 399
    assert list(peers.excesses([figure(0, 5)])) == []


def test_the_median_of_ranks_is_the_lower_of_two_in_the_middle(tmp_path):
    parts = synthetic.partials_of(synthetic.Job(ranks=4, steps=20))
    rows = finish(merging.merge(parts)).tables["operation_spread"].to_pylist()
    [load] = [row for row in rows if row["operation"] == "load"]
    each = sorted(row["wall_ns"] for part in parts for row in part.tables["operations"].to_pylist()
                  if row["operation"] == "load")
    assert (load["p50_ns"], load["p99_ns"]) == (each[1], each[3])


def test_a_job_may_take_longer_than_63_bits_hold(tmp_path):
    parts = synthetic.partials_of(synthetic.Job(ranks=8, steps=2))
    for part in parts:
        table = part.tables["operations"]
        at = table.column_names.index("wall_ns")
        part.tables["operations"] = table.set_column(at, "wall_ns", pa.array([1 << 61, 5]))
    rows = finish(merging.merge(parts)).tables["operation_spread"].to_pylist()
    assert [(row["operation"], row["total_ns"], row["max_ns"]) for row in rows] == [
        ("train", None, 1 << 61), ("load", 40, 5)]


def test_waiting_is_part_of_the_steps_in_which_it_was_seen(tmp_path):
    def halved(table):  # every other step was a control step: it has no collectives
        steps, calls = table[spec.STEPS], table[spec.LEDGER]
        level = pa.array([2 * (step % 2) for step in steps.column("step").to_pylist()])
        table[spec.STEPS] = steps.set_column(steps.column_names.index("level"), "level", level)
        seen = [step % 2 == 1 for step in calls.column("step").to_pylist()]
        table[spec.LEDGER] = calls.filter(pa.array(seen))

    parts = synthetic.partials_of(JOB)
    for part in parts:
        halved(part.tables)
    whole = merging.merge(parts)
    dataset.write(str(tmp_path / "c"), whole, finish(whole))
    text = " ".join(report.verdict(dataset.open_cluster(str(tmp_path / "c"))))
    assert "All ranks together waited 28.4 s of the 39.4 s of their steps (72 %)." in text
    assert report._sum(pa.array([1 << 62, None, 1 << 62, 1])) == (1 << 63) + 1


def test_times_have_the_unit_that_they_round_to():
    assert [report.duration(ns) for ns in (None, 999_499, 999_600_000, 4_000_000)] == [
        "-", "999 µs", "1.00 s", "4.00 ms"]


def test_ranges_of_ranks_are_told_in_few_words():
    some = random.Random(1)
    for _ in range(100):
        numbers = {some.randrange(60) for _ in range(some.randrange(60))}
        pairs = joined((number, number + more) for number in numbers for more in (0, 1))
        whole = {number + more for number in numbers for more in (0, 1)}
        assert {n for a, b in pairs for n in range(a, b + 1)} == whole
        assert all(last + 1 < first for (_, last), (first, _) in zip(pairs, pairs[1:]))
    assert report.ranges([(1, 3), (7, 7), (9, 10)]) == "1 to 3, 7, 9 to 10"
    assert report.ranges([(n, n) for n in range(0, 40, 2)]) == "0, 2, 4, 6, 8, 10 and 14 more"


def test_a_job_of_many_ranks_that_are_not_here_costs_nothing(tmp_path):
    run = ranks.trace_of(tmp_path, 5, world=1 << 40)
    code, cluster = ranks.reduce(tmp_path / "cluster", run)
    assert code == 3 and cluster.facts["missing"] == [[0, 4], [6, (1 << 40) - 1]]
    assert cluster.table("missing").column("last_rank").to_pylist() == [4, (1 << 40) - 1]
    assert "! ranks 0 to 4, 6 to 1099511627775 of 1,099,511,627,776" in report.text(cluster)


def test_control_characters_of_names_do_not_reach_the_terminal(tmp_path):
    partials = synthetic.partials_of(synthetic.Job(ranks=2, steps=4))
    for part in partials:
        operations = part.tables["operations"]
        at = operations.column_names.index("operation")
        part.tables["operations"] = operations.set_column(
            at, "operation", pa.array(["a\x1b[31m\nb"] * operations.num_rows))
    whole = merging.merge(partials)
    dataset.write(tmp_path, whole, finish(whole))
    text = report.text(dataset.open_cluster(tmp_path))
    assert "\x1b" not in text and "\u241b[31m\u240ab" in text


def test_a_rank_that_alone_has_an_operation_has_more_of_it_than_its_peers():
    parts = synthetic.partials_of(synthetic.Job(ranks=4, per_host=2, steps=5, late=1))
    operations = parts[2].tables["operations"]
    save = pa.table({SHARD: pa.array([0], pa.int32()), "operation": ["save"], "count": [1],
                     "wall_ns": [10**12]})
    parts[2].tables["operations"] = pa.concat_tables([operations, save])
    tables = finish(merging.merge(parts)).tables
    [grew] = [row for row in tables["stragglers"].to_pylist() if row["rank"] == 2]
    assert (grew["grew_operation"], grew["grew_operation_ns"]) == ("save", 10**12)
    assert ("save", 2, 0) in [(row["name"], row["rank"], row["median_ns"])
                              for row in tables["rank_outliers"].to_pylist()]


def test_ranks_beside_many_that_have_none_of_it_are_as_beside_zeros():
    some = random.Random(2)
    for _ in range(300):
        count = some.randint(1, 9)
        every = [some.choice((0, 0, 1, 5, 100)) for _ in range(count)]
        figures = [peers.Figure(0, "", rank, "operation", "x", ns)
                   for rank, ns in enumerate(every)]
        there = [figure for figure in figures if figure.ns]
        told = {(e.figure.rank, e.median_ns, e.unusual) for e in peers.excesses(figures)
                if e.figure.ns}
        assert told == {(e.figure.rank, e.median_ns, e.unusual)
                        for e in peers.excesses(there, {(0, ""): count})}
