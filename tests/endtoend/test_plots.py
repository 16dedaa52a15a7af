"""`crosscut plot`: every number drawn stands in a plot_data.txt and in the table it names."""

import csv
import json
import os
import random
import re
import statistics
import subprocess
import sys

import pytest
from crosscut import plots
from crosscut.plots import figures, repeats, sheets, timelines
from matplotlib.container import BarContainer
from runs import CROSSCUT, ROOT, table

CASE = ROOT / "tests" / "golden" / "table_metrics" / "input.txt"
SEVERAL = ["category_overlap", "device_utilization", "extrapolated_time", "operation_breakdown",
           "operation_overlap", "process_timeline", "time_breakdown", "transitions", "venn"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Plots of one trace under two labels."""
    out = tmp_path_factory.mktemp("plots")
    env = {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
    result = subprocess.run([CROSSCUT, "plot", CASE, f"again={CASE}", "-o", out], env=env,
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{len(sheets.METRICS) + len(SEVERAL)} plots in {out}\n"
    return out


def plot_data(folder, name):
    """(tables named, rows) of a file."""
    with open(folder / f"{name}.plot_data.txt", encoding="utf-8") as file:
        head = file.readline()
        return re.findall(r"table (\w+)", head), list(csv.DictReader(file, delimiter="\t"))


def test_every_plot_is_a_picture_beside_its_numbers(folder):
    names = [f"{metric}.summary" for metric in sheets.METRICS] + SEVERAL
    want = {f"{name}.{ending}" for name in names for ending in ("png", "plot_data.txt")}
    assert {path.name for path in folder.iterdir()} == want
    for name in names:
        picture = (folder / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG\r\n") and picture.endswith(b"IEND\xaeB`\x82")
        assert len(picture) > 5000


def test_every_number_stands_in_the_table_that_is_named(folder):
    checked = 0
    names = {row["process"]: row["name"] for row in table(CASE, "processes")}
    for name in SEVERAL:
        (source,), rows = plot_data(folder, name)
        of_table = [{key: str(value) for key, value in row.items()}
                    for row in table(CASE, source)]
        assert len(rows) >= 2
        for row in rows:
            assert row.pop("run") in ("input.txt", "again")
            assert row.pop("name") == names.get(row["process"], "")
            assert any(row.items() <= known.items() for known in of_table), (name, row)
            checked += 1
    assert checked > 100


def test_metrics_have_their_window_their_correction_and_their_steps(folder):
    for metric, column in sheets.METRICS.items():
        _, rows = plot_data(folder, f"{metric}.summary")
        windows = {row["process"]: row[column]
                   for row in table(CASE, "metrics") if row["operation"] == "(all)"}
        assert {row["process"] for row in rows} == set(windows)
        spread = {row["process"]: row for row in table(CASE, "step_metric_spread")
                  if row["metric"] == column}
        for row in rows:
            assert row[column] == str(windows[row["process"]])
            assert row["run"] in ("input.txt", "again")
            of_steps = spread.get(row["process"], {})
            for key in ("steps", "mean", "std", "min", "p10", "p50", "p90", "max"):
                assert row[key] == str(of_steps.get(key, "")), (metric, key)


def test_the_process_table_lists_all_processes(folder):
    rows = plot_data(folder, "process_timeline")[1]
    assert {row["process"] for row in rows} == {"learner", "actor0", "actor1"}
    assert {row["parent"] for row in rows if row["process"] != "learner"} == {"learner"}


def bars(figure, axis=0):
    """Heights of the bars by legend entry."""
    return {container.get_label(): [patch.get_height() for patch in container]
            for container in figure.axes[axis].containers if isinstance(container, BarContainer)}


def sheet(name):
    (found,) = [made for made in sheets.make([sheets.Source("run", str(CASE))])
                if made.name == name]
    return found


def test_bars_are_as_long_as_their_numbers():
    made = sheet("time_breakdown")
    got = bars(figures.classes(made))
    for name, label in figures.CLASS_NAMES.items():
        want = [row[f"{name}_ns"] * 1e-9 for row in made.rows]
        assert got.get(label, [0.0] * len(want)) == pytest.approx(want)
    percent = bars(figures.classes(made), axis=1)
    assert sum(heights[0] for heights in percent.values()) == pytest.approx(100)

    made = sheet("operation_overlap")
    got = bars(figures.shares(made))
    assert got["CPU + GPU"] == pytest.approx([row["overlap_ns"] * 1e-9 for row in made.rows])

    made = sheet("category_overlap")
    total = sum(sum(heights) for heights in bars(figures.layers(made)).values())
    assert total == pytest.approx(sum(row["ns"] for row in made.rows) * 1e-9)


def test_the_timeline_has_three_bars_a_phase_and_an_arrow_a_child():
    made = sheet("process_timeline")
    (axis,) = timelines.draw(made).axes
    widths = sorted(patch.get_width() for patch in axis.patches)
    want = sorted(length * 1e-9 for row in made.rows
                  for length in (row["end_ns"] - row["begin_ns"], row["any_host_ns"],
                                 row["any_device_ns"]))
    assert widths == pytest.approx(want)
    arrows = [text for text in axis.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == 2


def test_labels_are_unique_and_name_their_runs(tmp_path):
    there = tmp_path / "a=b"
    there.mkdir()
    assert plots.labelled(["x/run", "y/run", "ppo=z/run", str(there)]) == [
        ("run", "x/run", "run"), ("run #2", "y/run", "run #2"), ("ppo", "z/run", "ppo"),
        ("a=b", str(there), "a=b")]


def test_runs_of_one_label_are_repetitions():
    assert plots.labelled(["ppo=x", "ppo=y", "a2c=z", "ppo=u"]) == [
        ("ppo", "x", "ppo"), ("ppo #2", "y", "ppo"), ("a2c", "z", "a2c"), ("ppo #3", "u", "ppo")]


def repeated(folder, lengths):
    """Sources of one group: runs of a process of another key each time; the second lacks `late`."""
    sources = []
    for i, ns in enumerate(lengths):
        path = folder / f"{i}.txt"
        late = f"op late {ns} {ns + 500}\n" if i != 1 else ""
        path.write_text(f"# crosscut trace\nprocess p{i} pid={i + 1} name=agent "
                        f"window=0..{ns + 500}\nthread main base=python lead\n"
                        f"op train 0 {ns}\n{late}")
        sources.append(sheets.Source(f"ppo #{i + 1}", str(path), "ppo"))
    return sources


def test_repeated_runs_are_drawn_as_their_mean_with_its_interval(tmp_path):
    lengths = [1000, 2000, 3000]
    (made,) = [made for made in sheets.make(repeated(tmp_path, lengths))
               if made.name == "operation_overlap"]
    assert len(made.rows) == 2 + 2 + 2, "each run's numbers stay in plot_data.txt"
    rows = {row["operation"]: row for row in repeats.merged(made).rows}
    assert set(rows) == {"train", "late", ""}
    assert {row["run"] for row in rows.values()} == {"ppo"}
    assert rows["train"]["wall_ns"] == 2000
    # Half of the interval of three values: 4.303 standard deviations / sqrt(3).
    assert rows["train"]["spread"]["wall_ns"] == pytest.approx(4.3027 * 1000 / 3 ** 0.5)
    assert rows["late"]["wall_ns"] == pytest.approx(2 * 500 / 3), "what a run lacks is 0"
    got = bars(figures.shares(repeats.merged(made)))
    assert sorted(got["CPU"]) == pytest.approx(sorted(
        row["host_ns"] * 1e-9 for row in rows.values()))
    (layers,) = [made for made in sheets.make(repeated(tmp_path, lengths))
                 if made.name == "category_overlap"]
    totals = repeats.totals(layers, ("run", "name", "operation"), "ns")
    assert totals["ppo", "agent", "train"] == pytest.approx(rows["train"]["spread"]["wall_ns"])


def test_what_is_no_amount_is_the_mean_of_the_runs_that_have_it(tmp_path):
    sources = []
    for i, last in enumerate(("step", "evaluation", "step")):
        path = tmp_path / f"{i}.txt"
        steps = "".join(f"step {kind} {at} {at + 1000} number={at}\n"
                        for at, kind in zip(range(0, 6000, 1000), ["step"] * 5 + [last]))
        path.write_text(f"# crosscut trace\nprocess p{i} pid={i + 1} name=agent window=0..6000\n"
                        f"thread main base=python lead\n{steps}device gpu0 stream=7\n"
                        "span kernel 0 600 device\n")
        sources.append(sheets.Source(f"ppo #{i + 1}", str(path), "ppo"))
    made = {sheet.name: sheet for sheet in sheets.make(sources)}
    figure = figures.metric(made["TotalTimeSec.summary"])
    assert bars(figure)["recorded"] == pytest.approx([6e-6]), "once, whatever kinds there are"
    assert bars(figure, 1)["mean ± std"] == pytest.approx([1e-6, 1e-6])
    figure = figures.utilization(repeats.merged(made["device_utilization"]))
    assert bars(figure)["a device is busy"] == pytest.approx([10.0] * 4)
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == [
        f"\neach {ms} ms" for ms in (1, 10, 100, 1000)]


def test_processes_of_one_name_keep_bars_of_their_own_in_repeated_runs():
    rows = [{"run": run, "group": "ppo", "process": f"{run} {ordinal}", "name": "worker",
             "ordinal": ordinal, "operation": "train", "layers": "python", "device": False,
             "layer": "python", "entries": seconds, "ns": seconds * 10 ** 9}
            for run in ("ppo", "ppo #2") for ordinal, seconds in enumerate((1, 3))]
    made = sheets.Sheet("category_overlap", "layers", ("overlap",), (
        "run", "process", "name", "operation", "layers", "device", "ns"), rows)
    figure = figures.layers(made)
    assert bars(figure) == {"python": [1.0, 3.0]}
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == [
        "worker\ntrain", "worker #2\ntrain"]
    made = sheets.Sheet("transitions", "entries", ("layer_entries",), (
        "run", "process", "name", "operation", "layer", "entries"), rows)
    assert bars(figures.entries(repeats.merged(made))) == {"python": [1, 3]}


def test_intervals_over_runs_hold_the_mean_as_often_as_they_say():
    drawn = random.Random(7)
    for runs in (2, 3, 5, 11, 12, 30):
        held = 0
        for _ in range(4000):
            values = [drawn.gauss(10, 3) for _ in range(runs)]
            held += abs(statistics.fmean(values) - 10) <= repeats.half_width(values)
        assert 0.935 <= held / 4000 <= 0.965, (runs, held)
    assert repeats.half_width([3.0]) == 0


def test_results_of_validate_are_a_plot(tmp_path):
    result = {"command": ["x"], "unrecorded_ns": [1e9, 3e9], "total": {"error": 0.25}, "recorded": [
        {"raw_ns": 4e9, "corrected_ns": 2e9, "low_ns": 1e9, "high_ns": 3e9},
        {"raw_ns": 6e9, "corrected_ns": 3e9, "low_ns": 2e9, "high_ns": 4e9}]}
    path = tmp_path / "ppo.json"
    path.write_text(json.dumps(result, indent=1))
    found = sheets.validation_of(str(path))
    (made,) = sheets.make([], {"ppo": found})
    assert made.text().splitlines()[2] == "ppo\t1000000000\t4000000000\t2000000000\t" \
        "1000000000\t3000000000\t0.25"
    figure = figures.validation(made)
    assert bars(figure) == {"unrecorded": [2.0], "recorded": [5.0], "corrected": [2.5]}
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["ppo\n+25.0%"]
    path.write_text('{"traceEvents": []}')
    assert sheets.validation_of(str(path)) is None


def test_what_was_subtracted_is_drawn_by_kind():
    rows = [{"run": "a", "group": "a", "process": "", "name": "", "ordinal": 0, "probe": probe,
             "count": 10, "total_ns": total, "low_ns": total - 10, "high_ns": total + 20,
             "subtracted_ns": total * 2}
            for probe, total in (("boundary", 1000), ("span", 4000))]
    costs = sheets.Sheet("correction_by_kind", "costs", ("overhead",), (
        "run", "probe", "count", "subtracted_ns"), rows)
    assert {name: heights[0] for name, heights in bars(figures.costs(costs)).items()} == \
        pytest.approx({"boundary": 2e-6, "span": 8e-6})
    (axis,) = figures.calibration(sheets.Sheet("calibration", "calibration", ("overhead",), (
        "run", "probe", "count", "total_ns", "low_ns", "high_ns"), rows)).axes
    assert [patch.get_width() for patch in axis.patches] == [100, 400]


def test_more_bars_than_fit_are_left_to_the_numbers():
    rows = [{"run": "r", "process": "p", "name": "", "operation": f"op{i}", "total_ns": i,
             **{f"{name}_ns": i for name in sheets.CLASSES}} for i in range(100)]
    made = sheets.Sheet("operation_breakdown", "operation_classes", ("metrics",),
                        ("run", "operation", "total_ns"), rows)
    (axis,) = figures.operation_classes(made).axes
    assert "60 shorter ones in plot_data.txt alone" in axis.get_title()
    assert len(made.text().splitlines()) == 102


@pytest.mark.parametrize(("words", "code"), [(["nowhere", "-o", "x"], 3), (["run"], 2), ([], 2)])
def test_bad_input_is_named(tmp_path, words, code):
    result = subprocess.run([CROSSCUT, "plot", *words], cwd=tmp_path, capture_output=True,
                            text=True, timeout=60,
                            env={**os.environ, "PATH": os.path.dirname(sys.executable)})
    assert result.returncode == code
    assert result.stderr.startswith("crosscut: ")
    assert not (tmp_path / "x").exists()
