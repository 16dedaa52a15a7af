"""`crosscut plot`: every number drawn stands in a plot_data.txt and in the table it names."""

import csv
import os
import re
import subprocess
import sys

import pytest
from crosscut import plots
from crosscut.plots import figures, sheets, timelines
from runs import CROSSCUT, ROOT, table

CASE = ROOT / "tests" / "golden" / "table_metrics" / "input.txt"
SEVERAL = ["category_overlap", "extrapolated_time", "operation_breakdown", "operation_overlap",
           "process_timeline", "time_breakdown", "transitions", "venn"]


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
        for row in rows:
            assert row.pop("run") in ("input.txt", "again")
            assert row.pop("name") == names[row["process"]]
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
            for container in figure.axes[axis].containers}


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
        ("run", "x/run"), ("run #2", "y/run"), ("ppo", "z/run"), ("a=b", str(there))]


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
