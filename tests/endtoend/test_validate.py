"""`crosscut validate`: its figures on made-up runs whose answers are known, and the verb itself."""

import importlib.util
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

import pytest
from crosscut import validation
from crosscut.validation import judge, runs
from crosscut.validation.judge import Corrected
from runs import CROSSCUT, ROOT


def exact(ns, half=0.0):
    return Corrected(ns, ns, ns - half, ns + half)


def test_the_band_is_made_of_what_neighbours_differ_by():
    # One pair of neighbours, apart by ln(1.1): 12.706 * pi / 2 / sqrt(2) times that.
    assert judge.neighbours_band([100, 110]) == pytest.approx(math.expm1(14.1132 * math.log(1.1)),
                                                              rel=1e-3)
    # Two, apart by ln(1.21) and nothing: 4.3027 * pi / 2 / sqrt(4) times half of it.
    assert judge.neighbours_band([5, 5, 121, 100]) == pytest.approx(
        math.expm1(3.37933 * math.log(1.1)), rel=1e-3)
    assert judge.neighbours_band([100, 110, 7]) < judge.neighbours_band([100, 110])
    assert judge.neighbours_band([100]) is None
    # A drift of the machine does not separate neighbours.
    assert judge.neighbours_band([100, 100, 150, 150, 300, 300]) == 0


NOISE = {"normal": lambda draw: draw.gauss(0, 0.03), "skewed": lambda draw: draw.expovariate(30),
         "hiccups": lambda draw: draw.gauss(0, 0.02) + (draw.random() < 0.1) * draw.expovariate(5)}


@pytest.mark.parametrize("noise", NOISE)
def test_the_band_holds_as_often_as_it_says_however_few_pairs_there_are(noise):
    draw = random.Random(5)

    def lives(pairs):
        return [math.exp(NOISE[noise](draw)) for _ in range(pairs)]

    for pairs in (2, 3, 4, 6, 10, 20):
        held = 0
        for _ in range(1500):
            plain, others = lives(pairs), lives(pairs)
            error = statistics.median(b / a for a, b in zip(plain, others)) - 1
            held += abs(error) <= judge.neighbours_band(plain)
        assert 0.935 <= held / 1500, (pairs, held)


def test_errors_are_medians_over_pairs():
    # Each pair ran twice as long as the one before; in each, 20 % and -1 % beside it.
    plain = [100.0, 200.0, 400.0]
    recorded = [Corrected(1.2 * ns, 0.99 * ns, 0.96 * ns, 1.02 * ns) for ns in plain]
    summary = judge.summarize(plain, recorded)
    assert summary.raw_inflation == pytest.approx(0.2)
    assert summary.error == pytest.approx(-0.01)
    assert summary.unrecorded_ns == 200
    # The middle interval is 12 wide.
    assert summary.half_width == pytest.approx(6 / 200)
    # Sample variance of 100, 200, 400: (133.3^2 + 33.3^2 + 166.7^2) / 2 = 23333.3.
    assert summary.spread == pytest.approx(23333.333 ** 0.5 / 200)


def test_coverage_counts_intervals_that_hold_the_truth():
    recorded = [exact(100, 3), exact(104, 3), exact(104, 4), exact(95, 5)]
    assert judge.coverage(recorded, 100, 0.0) == 0.75  # the second lacks 1
    # hypot(3, 2.6) = 3.97 < 4 <= hypot(3, 2.7) = 4.04
    assert judge.coverage(recorded, 100, 2.6) == 0.75
    assert judge.coverage(recorded, 100, 2.7) == 1


def test_unrecorded_runs_stand_in_the_places_of_recorded_ones():
    # Wherever the recorded runs lie: 100, 101 and 99 are within 3 of the medians of the others
    # (100.5, 100, 100.5), and 109 is 9 away.
    plain = [100, 101, 99, 109]
    assert judge.unrecorded_coverage(plain, [exact(140, 3)] * 4) == 0.75
    assert judge.unrecorded_coverage(plain, [exact(140, 3)] * 3 + [exact(60, 9)]) == 1
    lopsided = [Corrected(140, 140, 139, 150)] * 4  # 1 below, 10 above
    assert judge.unrecorded_coverage(plain, lopsided) == 0.75
    assert judge.unrecorded_coverage([100], [exact(140, 3)]) is None


def summary_of(error, band=0.01, covered=1.0):
    return judge.Summary(1e9, 0.2, error, band, 0.02, 0.0, 0.0, 1.0, covered)


def test_what_is_true_and_what_is_not():
    def misses(error, pairs=10, covered=1.0):
        return judge.misses(summary_of(error, covered=covered), pairs, 0.05)

    assert misses(0.059) == misses(-0.059) == []
    assert "off by -6.10%" in misses(-0.061)[0] and "A/A band of 1.00%" in misses(0.061)[0]
    assert misses(0, 19, 0.5) == [] and misses(0, 20, 0.85) == []
    assert misses(0, 20, 0.84) == ["84% of the intervals hold the truth, less than 85%"]


def test_what_a_wide_band_hides_is_not_shown_and_so_many_pairs_would_show_it():
    def told(error, band, pairs=10):
        return judge.not_shown(summary_of(error, band), pairs, 0.05)

    # The whole of error and band within what is claimed, or the whole of it outside: shown.
    assert told(0.039, 0.01) == told(-0.039, 0.01) == told(0.061, 0.01) == told(-0.2, 0.14) == []
    assert told(0.0, 0.05) == [] != told(0.0, 0.051), "a band as wide as the claim"
    # A band of 20 % has to become 4 %, or at 9 % to leave 5 % out: ln(1.2) / ln(1.04) = 4.65 times
    # narrower, of which 2.571 / 1.998 is Student's factor, and the root of 12.9 times as many.
    assert told(-0.01, 0.2)[0].endswith("about 131 pairs would show it")
    assert told(0.09, 0.2)[0].endswith("about 131 pairs would show it")
    assert "off by -1.00%, give or take an A/A band of 20.00%, where 5.00%" in told(-0.01, 0.2)[0]
    assert told(0.05, 0.01)[0].endswith("more than 10000 pairs would show it")
    assert told(0.0, None) == ["the A/A band is not known from one pair"]


def test_so_many_pairs_narrow_the_band_to_what_is_claimed():
    """Of runs that differ by 10 %: the band of as many as told is as wide as the claim."""
    draw = random.Random(3)

    def runs_of(pairs):
        plain = [1e9 * draw.gauss(1, 0.1) for _ in range(pairs)]
        return judge.summarize(plain, [exact(ns) for ns in plain])

    bands = []
    while len(bands) < 15:
        told = judge.not_shown(runs_of(30), 30, 0.03)
        if told:  # or the band happens to be narrow
            bands.append(runs_of(int(re.search(r"about (\d+) pairs", told[0])[1])).aa_band)
    assert statistics.median(bands) == pytest.approx(0.03, rel=0.35)


def test_a_result_names_what_misses():
    life = Corrected(1.3e9, 1.2e9, 1.19e9, 1.21e9)
    step = exact(2e6, 1e4)
    run = runs.Recorded(life, 50_000_000, False, "not checked: why", step, {}, None)
    result = validation.result_of(
        runs.Runs([1_000_000_000] * 2, [{"step_median_ns": 2e6}] * 2, [run, run]), 0.05)
    assert (result["holds"], len(result["misses"])) == (False, 1)
    assert result["misses"][0].startswith("total time: off by +20.00%")
    assert result["step"]["error"] == 0 and result["outside_ns"] == 50_000_000
    assert (result["checked"], result["not_checked"]) == (0, ["not checked: why"])
    text = validation.as_text(result, ["a program", "x"])
    assert "'a program' x" in text and "NOT true: total time: off by +20.00%" in text
    for cell in ("1.000 s", "2.000 ms", "+30.00%", "+20.00%", "50 ms", "not checked: why"):
        assert cell in text
    assert "judged from 20 pairs on" in text and "Not shown" not in text


@pytest.mark.parametrize("plain, said", [
    ([1e9, 1.2e9], "Not shown whether the corrected times are true: total time: off by "),
    ([1e9], "Not shown whether the corrected times are true: total time: the A/A band is not"),
    ([1e9, 1e9, 1e9], "The corrected times are true within 5.00%."),
    ([1e9, 1e9], "The corrected times are true within 5.00%.")])
def test_a_result_says_what_is_not_shown(plain, said):
    run = [runs.Recorded(exact(ns), 0, True, "", None, {}, None) for ns in plain]
    result = validation.result_of(runs.Runs(plain, [{}] * len(plain), run), 0.05)
    assert result["misses"] == [] and result["holds"] == (not result["not_shown"])
    assert said in validation.as_text(result, ["x"])


# ---- The verb -----------------------------------------------------------------------------------

STEPS = """
import json, os, statistics, sys, time
import crosscut

with open("seen", "a") as file:
    recorded = "CROSSCUT_RUN" in os.environ
    ours = sorted(name for name in os.environ if name.startswith("CROSSCUT_"))
    file.write(json.dumps([recorded, [] if recorded else ours, os.environ.get("PYTHONPATH"),
                           os.environ.get("CROSSCUT_SEED") if recorded else None]) + "\\n")
times = []
for _ in range(40):
    begin = time.perf_counter_ns()
    crosscut.step()
    time.sleep(0.005)
    times.append(time.perf_counter_ns() - begin)
json.dump({"step_median_ns": statistics.median(times)}, open("times.json", "w"))
"""


def validate(folder, *words):
    env = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "release" / "python"),
           "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
    env.pop("CROSSCUT_SEED", None)
    return subprocess.run([CROSSCUT, "validate", *words], cwd=folder, capture_output=True,
                          text=True, timeout=300, env=env)


def test_pairs_are_interleaved_and_compared(tmp_path):
    (tmp_path / "steps.py").write_text(STEPS)
    (tmp_path / "times.json").write_text("of another run")
    done = validate(tmp_path, "--pairs=2", "--within=1e30", "--times=times.json", "--format=json",
                    "--plan=full", "--control-steps=20", "--", sys.executable, "steps.py")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    seen = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    assert [recorded for recorded, *_ in seen] == [False, True, True, False]
    assert all(ours == [] for _, ours, *_ in seen)
    package = str(ROOT / "build" / "release" / "python")
    assert [path for recorded, _, path, _ in seen if not recorded] == [package] * 2
    assert [seed for recorded, *_, seed in seen if recorded] == ["1", "2"]
    assert result["record_options"] == ["--plan=full", "--control-steps=20"]
    assert result["command"] == [sys.executable, "steps.py"]
    assert len(result["unrecorded_ns"]) == len(result["recorded"]) == result["pairs"] == 2
    for life in result["unrecorded_ns"]:
        assert life >= 40 * 5_000_000  # it sleeps so long
    for run in result["recorded"]:
        assert run["raw_ns"] - result["outside_ns"] > 0
        assert 40 * 5_000_000 < run["low_ns"] < run["corrected_ns"] < run["high_ns"]
        assert run["corrected_ns"] < run["raw_ns"]
    assert result["step"]["unrecorded_ns"] >= 5_000_000
    assert "of 20 blocks" in result["not_checked"][0]


def test_a_shell_leaves_the_word_to_the_program_it_runs(tmp_path):
    (tmp_path / "steps.py").write_text(STEPS)
    done = validate(tmp_path, "--pairs=1", "--within=100000", "--format=json", "--", "sh", "-c",
                    f"{sys.executable} steps.py; true")
    assert done.returncode == 3, "one pair shows nothing"
    (run,) = json.loads(done.stdout)["recorded"]
    assert run["corrected_ns"] < run["raw_ns"]


@pytest.mark.parametrize("pairs, code, said", [
    (2, 1, "step: off by +"), (1, 3, "step: the A/A band is not known from one pair")])
def test_what_recording_lengthens_uncorrected_is_a_finding_of_more_than_one_pair(
        tmp_path, pairs, code, said):
    # A clock of its own that says 1 ms of 5.
    (tmp_path / "steps.py").write_text(STEPS.replace("statistics.median(times)", "1e6"))
    done = validate(tmp_path, f"--pairs={pairs}", "--times=times.json", "--", sys.executable,
                    "steps.py")
    assert done.returncode == code, done.stderr
    assert said in done.stdout and ("NOT true" in done.stdout) == (code == 1)


@pytest.mark.parametrize("words,code,said", [
    (["--", sys.executable, "-c", "import sys; print('its words'); sys.exit(7)"], 3,
     "crosscut: the command ended with 7:\ncrosscut: its words"),
    (["--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], 3, "died by signal 9"),
    (["--", sys.executable, "-c", "import os; os._exit(4 * ('CROSSCUT_RUN' in os.environ))"], 1,
     "the command ended with 4 when recorded, but not when unrecorded"),
    (["--", "no-such-program"], 2, "no-such-program: No such file or directory"),
    (["--times=none", "--", "true"], 3, "--times=none: the command must write it"),
    (["--sources=none", "--dormant", "--", sys.executable, "-c", ""], 3, "nothing was recorded"),
    (["--plan=nonsense", "--", "true"], 2, "--plan"),
    (["--no-such-option", "--", "true"], 2, "--no-such-option"),
    (["-o", "here", "--", "true"], 2, "-o: the recordings are not kept"),
    (["--pairs=0", "--", "true"], 2, "--pairs"),
    (["--within=nan", "--", "true"], 2, "--within"),
    (["--pairs=1"], 2, "no command is given"),
    (["--"], 2, "no command is given"),
])
def test_what_cannot_be_validated_is_told(tmp_path, words, code, said):
    done = validate(tmp_path, *words)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(pathlib.Path(tmp_path).iterdir()) == []


# ---- make validate ------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def bench():
    """bench/validate.py as a module."""
    spec = importlib.util.spec_from_file_location("bench_validate", ROOT / "bench" / "validate.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def results_of(bench, errors):
    """What bench.validate() returns, of suite rl, with these errors of corrected times."""
    out = []
    for i, error in enumerate(errors):
        life = exact(1e9 * (1 + error), 1e7)
        run = runs.Recorded(life, 0, True, "", None, {}, None)
        result = validation.result_of(runs.Runs([1_000_000_000] * 2, [{}] * 2, [run] * 2), 0.05)
        out.append({**result, "program": f"program {i}", "suite": "rl", "shares": {}})
    return out


def test_a_suite_holds_by_its_median_and_its_worst(bench):
    words, holds = bench.verdict_of_suite(results_of(bench, [0.0, 0.001, -0.008]))
    assert holds and "error 0.10% in the median, 0.80% at most; half-width 1.00%" in words
    assert "the error of 3 programs is within theirs" in words
    assert "100% of 6 intervals" in words
    words, holds = bench.verdict_of_suite(results_of(bench, [0.0, 0.001, 0.06]))
    assert not holds and "the error of 2 programs is within theirs" in words
    # Each within its 5 %, but not the median within 2 %, nor intervals that hold.
    assert not bench.verdict_of_suite(results_of(bench, [0.03, 0.03, 0.03]))[1]


def test_the_table_stands_in_its_page_and_is_replaced(bench, tmp_path):
    page = tmp_path / "validation.md"
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    bench.write_table(page, results_of(bench, [0.01, 0.02]))
    once = page.read_text(encoding="utf-8")
    assert "| program 1 | total | 2 | 1.000 s | +2.00% | +2.00% | 0.00% |" in once
    assert "2 programs: error 1.50% in the median" in once
    bench.write_table(page, results_of(bench, [0.01]))
    twice = page.read_text(encoding="utf-8")
    assert "program 0" in twice and "program 1" not in twice
    around = [text.partition(bench.BEGIN)[0], text.partition(bench.END)[2]]
    assert [twice.partition(bench.BEGIN)[0], twice.partition(bench.END)[2]] == around
    page.write_text("no place")
    with pytest.raises(SystemExit, match="no place for the table"):
        bench.write_table(page, [])


def test_every_program_of_the_bench_is_there(bench):
    for program in bench.PROGRAMS.values():
        assert program.words
        for word in program.words.split():
            assert not word.endswith((".py", ".txt")) or (ROOT / word).exists(), word
