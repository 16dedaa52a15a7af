"""RL-Scope's worked cases, its own tests' cases and random traces, through `crosscut table` and
crosscut.read(): what a user gets must be what the definitions say.

Where RL-Scope's answer differs from the correct one (kernels that overlap each other, time without
a category or an operation, pairs left out of Venn files), the correct one is asserted.
"""

import random

import pytest
from worked_cases import (
    Process,
    brute_concurrency,
    brute_overlap,
    by_command,
    by_module,
    categories,
    concurrency,
    overlap,
    write,
)

PY, BACK, CUDA, SIM, GPU = "Python", "Backend", "CUDA", "Simulator", "GPU"
READERS = pytest.mark.parametrize("rows_of", [by_command, by_module])


def cells(operation, **sets):
    """cells("a", Python_GPU=3) = {("a", {Python, GPU}): 3}; "none" is the empty set."""
    return {(operation, frozenset(key.split("_")) - {"none"}): ns for key, ns in sets.items()}


T1 = Process("p", (0, 12), [], [(PY, [(3, 7), (8, 10)]), (BACK, [(1, 4), (6, 9)]),
                                (CUDA, [(2, 5), (7, 8), (11, 12)])])
T2 = Process("p", (0, 1000),
             [("training_loop", 0, 1000), ("inference", 100, 400), ("backprop", 500, 900)],
             [(PY, [(0, 120), (200, 260), (380, 520), (880, 1000)]),
              (BACK, [(120, 200), (260, 380), (520, 880)]),
              (CUDA, [(150, 170), (300, 320), (560, 600), (700, 760)]),
              (GPU, [(165, 230), (315, 450), (590, 820)])])
T3 = Process("p", (0, 90),
             [("A", 0, 50), ("B", 0, 20), ("C", 5, 20), ("B", 30, 50), ("D", 60, 80)],
             [(PY, [(0, 10), (20, 35), (55, 70)]), (SIM, [(10, 20), (35, 45)]),
              (GPU, [(12, 14), (18, 33), (65, 90)])])
T4 = [Process("P0", (0, 100), [], [(PY, [(0, 40), (70, 100)]), (BACK, [(40, 70)]),
                                   (GPU, [(50, 80)])]),
      Process("P1", (0, 100), [], [(PY, [(10, 20), (60, 65)]), (BACK, [(20, 60)]),
                                   (GPU, [(30, 55), (58, 62)])]),
      Process("P2", (0, 100), [], [(SIM, [(5, 90)]), (GPU, [(75, 95)])])]
T5 = Process("p", (0, 1000), [("step", 0, 1000)],
             [(PY, [(0, 100), (400, 500), (900, 1000)]), (BACK, [(100, 400), (500, 900)]),
              (CUDA, [(150, 200), (600, 680)]), (GPU, [(190, 450), (650, 880)]),
              ("Overhead", [(0, 10), (150, 165), (200, 205), (400, 420), (600, 615), (680, 685),
                            (900, 920)])])
T7 = Process("p", (0, 100), [("train", 0, 100)],
             [(PY, [(0, 30), (90, 100)]), (BACK, [(30, 90)]), (BACK, [(35, 85)]),
              (CUDA, [(40, 50), (60, 70)]), (GPU, [(45, 80)])])
T8 = [Process("learner", (0, 200), [("train", 0, 200), ("sync", 150, 180)],
              [(PY, [(0, 20), (150, 160), (180, 200)]), (BACK, [(20, 150), (160, 180)]),
               (GPU, [(40, 140), (165, 175)])]),
      Process("actor0", (10, 190),
              [("rollout", 10, 190), ("step", 20, 60), ("infer", 60, 80), ("step", 80, 170)],
              [(PY, [(10, 25), (58, 62), (78, 84), (165, 190)]), (SIM, [(25, 58), (84, 165)]),
               (BACK, [(62, 78)]), (GPU, [(66, 72)])]),
      Process("actor1", (0, 180),
              [("rollout", 0, 180), ("step", 30, 110), ("infer", 110, 140)],
              [(PY, [(0, 32), (108, 112), (138, 180)]), (SIM, [(32, 108)]), (BACK, [(112, 138)]),
               (GPU, [(118, 150)])])]

OVERLAPS = {
    "T1": ([T1], cells("", none=2, Python=2, Backend=1, CUDA=1, Python_Backend=2, Python_CUDA=1,
                       Backend_CUDA=2, Python_Backend_CUDA=1)),
    "T2": ([T2], cells("training_loop", Python=250, Python_GPU=50) |
           cells("inference", Python=50, Python_GPU=50, Backend=70, Backend_GPU=90,
                 Backend_CUDA=30, Backend_CUDA_GPU=10) |
           cells("backprop", Python=40, Backend=100, Backend_GPU=160, Backend_CUDA=30,
                 Backend_CUDA_GPU=70)),
    "T3": ([T3], cells("A", Python_GPU=10) |
           cells("B", Python=7, Python_GPU=3, Simulator=10, none=5) |
           cells("C", Python=5, Simulator=6, Simulator_GPU=4) |
           cells("D", Python=5, Python_GPU=5, GPU=10) | cells("", Python=5, GPU=10, none=5)),
    "T6 kernels that follow": ([Process("p", (0, 20), [], [(GPU, [(0, 10)]), (GPU, [(5, 15)])])],
                               cells("", GPU=15, none=5)),
    "T6 a kernel inside": ([Process("p", (0, 20), [], [(GPU, [(0, 10)]), (GPU, [(2, 4)])])],
                           cells("", GPU=10, none=10)),
    "T6 equal kernels": ([Process("p", (0, 20), [], [(GPU, [(0, 10)]), (GPU, [(0, 10)])])],
                         cells("", GPU=10, none=10)),
    "T6 merge_adjacent_events": (
        [Process("p", (0, 10), [], [(PY, [span]) for span in ((1, 6), (2, 6), (3, 7), (4, 6))] +
                 [(BACK, [(4, 5)])])], cells("", none=4, Python=5, Python_Backend=1)),
    "T6 three streams": ([Process("p", (0, 20), [], [(PY, [(0, 20)])] +
                                  [(GPU, [span]) for span in ((2, 12), (4, 6), (10, 18))])],
                         cells("", Python=4, Python_GPU=16)),
    "T7": ([T7], cells("train", Python=40, Backend=20, Backend_CUDA=5, Backend_CUDA_GPU=15,
                       Backend_GPU=20)),
    "T8 learner": (T8, cells("train", Python=40, Backend=30, Backend_GPU=100) |
                   cells("sync", Python=10, Backend=10, Backend_GPU=10)),
    # The 10 ns of "rollout" with a device belong to what "infer" launched: time, not launches.
    "T8 actor1": (T8[::-1], cells("rollout", Python=60, Python_GPU=10) |
                  cells("step", Python=4, Simulator=76) |
                  cells("infer", Python=2, Python_GPU=2, Backend=6, Backend_GPU=20)),
    "T8 actor0": (T8[1:], cells("rollout", Python=30) | cells("step", Python=16, Simulator=114) |
                  cells("infer", Python=4, Backend=10, Backend_GPU=6)),
    # RL-Scope's TestEachOpEvent and TestProcessOpNest.
    "an operation inside": ([Process("p", (0, 3), [("B", 0, 3), ("A", 1, 2)], [(PY, [(0, 3)])])],
                            cells("B", Python=2) | cells("A", Python=1)),
    "an operation at the begin": ([Process("p", (0, 3), [("B", 0, 3), ("A", 0, 1)],
                                           [(PY, [(0, 3)])])],
                                  cells("B", Python=2) | cells("A", Python=1)),
    "an operation at the end": ([Process("p", (0, 3), [("B", 0, 3), ("A", 2, 3)],
                                         [(PY, [(0, 3)])])],
                                cells("B", Python=2) | cells("A", Python=1)),
    "two operations, twice": (
        [Process("p", (0, 11), [(name, begin + at, end + at) for at in (0, 6)
                                for name, begin, end in (("B", 0, 5), ("A", 1, 2), ("A", 3, 4))],
                 [(PY, [(0, 11)])])],
        cells("B", Python=6) | cells("A", Python=4) | cells("", Python=1)),
    "three levels": ([Process("p", (0, 5), [("op1", 0, 5), ("op2", 1, 4), ("op3", 2, 3)],
                              [(PY, [(0, 5)])])],
                     cells("op1", Python=2) | cells("op2", Python=2) | cells("op3", Python=1)),
    "times of 19 digits": (
        [Process("p", (1571625977177087000, 1571625977177087005), [],
                 [(PY, [(1571625977177087001, 1571625977177087004)]),
                  (GPU, [(1571625977177087003, 1571625977177087005)])])],
        cells("", none=1, Python=2, Python_GPU=1, GPU=1)),
}


@READERS
@pytest.mark.parametrize("case", OVERLAPS)
def test_overlap(case, rows_of, tmp_path):
    processes, want = OVERLAPS[case]
    rows = rows_of(write(tmp_path / "trace.txt", processes), "overlap")
    assert overlap(rows, processes[0].name) == want
    assert brute_overlap(processes[0]) == want  # so that the property below compares with the same


@READERS
def test_t4_three_processes_share_a_device(rows_of, tmp_path):
    path = write(tmp_path / "trace.txt", T4)
    shares = {row["process"]: (row["host_ns"], row["overlap_ns"], row["device_ns"])
              for row in rows_of(path, "operations")}
    assert shares == {"P0": (70, 30, 0), "P1": (26, 29, 0), "P2": (70, 15, 5)}
    cells = concurrency(rows_of(path, "concurrency"))
    assert cells == brute_concurrency(T4)
    assert sum(cells.values()) == 100

    def by(count):
        return {n: sum(ns for key, ns in cells.items() if count(*key) == n) for n in range(4)}

    assert by(lambda host, device: len(host)) == {0: 0, 1: 15, 2: 30, 3: 55}
    assert by(lambda host, device: len(device)) == {0: 35, 1: 51, 2: 14, 3: 0}
    assert by(lambda host, device: bool(host) and not device)[1] == 35
    assert by(lambda host, device: bool(host) and bool(device))[1] == 65


@READERS
def test_t5_overhead_is_told_apart_and_a_device_runs_on_under_it(rows_of, tmp_path):
    rows = rows_of(write(tmp_path / "trace.txt", [T5]), "overlap")
    raw, corrected = {False: 0, True: 0}, {}
    for (_, on), ns in overlap(rows, "p").items():
        raw["GPU" in on] += ns
        left = on & {"GPU"} if "Overhead" in on else on
        if left:
            corrected[left] = corrected.get(left, 0) + ns
    assert raw == {False: 510, True: 490}
    assert {("", on): ns for on, ns in corrected.items()} == cells(
        "", Python=220, Python_GPU=30, Backend=170, Backend_GPU=390, Backend_CUDA=60,
        Backend_CUDA_GPU=40, GPU=30)
    assert sum(corrected.values()) == 940


@READERS
def test_t2_in_metrics_venn_and_layer_entries(rows_of, tmp_path):
    path = write(tmp_path / "trace.txt", [T2])
    venn = {row["members"]: (row["exact_ns"], row["inclusive_ns"])
            for row in rows_of(path, "venn") if row["sets"] == "resources"}
    assert venn == {"host": (570, 1000), "device": (0, 430), "device+host": (430, 430)}
    metrics = {row["operation"]: row for row in rows_of(path, "metrics")}
    assert metrics["(all)"]["total_ns"] == 1000
    assert metrics["(all)"]["gpu_ns"] == 430
    # Transitions into a layer with the same operation on both sides.
    entries = {(row["operation"], row["layer"]): row["entries"]
               for row in rows_of(path, "layer_entries")}
    for operation, wanted in (("inference", (2, 2, 2, 2)), ("backprop", (1, 2, 1, 1)),
                              ("training_loop", (0, 0, 0, 0))):
        assert tuple(entries.get((operation, layer), 0) for layer in
                     ("framework", "runtime", "device", "python")) == wanted


@READERS
def test_t8_devices_of_three_processes(rows_of, tmp_path):
    path = write(tmp_path / "trace.txt", T8)
    cells = concurrency(rows_of(path, "concurrency"))
    assert cells == brute_concurrency(T8)
    devices = {n: sum(ns for (_, device), ns in cells.items() if len(device) == n)
               for n in range(3)}
    assert devices == {0: 80, 1: 92, 2: 28}


@READERS
def test_t9_short_kernels_keep_a_device_busy_for_one_percent(rows_of, tmp_path):
    kernels = [(i * 1_000_000, i * 1_000_000 + 10_000) for i in range(1000)]
    path = write(tmp_path / "trace.txt", [Process("p", (0, 10**9), [], [(GPU, kernels)])])
    rows = [row for row in rows_of(path, "device_utilization") if row["process"] == "p"]
    assert {float(row["busy_percent"]) for row in rows} == {1.0}
    sampled = {row["sample_ns"]: float(row["sampled_percent"]) for row in rows}
    assert [sampled[ns] for ns in (1_000_000, 10_000_000, 100_000_000)] == [100.0] * 3


# RL-Scope's TestVennAsOverlapDict in both directions: exact sizes in, inclusive ones out.
VENN = {
    "three sets": ({"Python": 3, "Backend": 3, "Simulator": 3, "Python_Backend": 1,
                    "Python_Simulator": 1, "Backend_Simulator": 1, "Python_Backend_Simulator": 1},
                   {"Python": 6, "Backend": 6, "Simulator": 6, "Python_Backend": 2,
                    "Python_Simulator": 2, "Backend_Simulator": 2, "Python_Backend_Simulator": 1}),
    "pairs that occur in no set of their own": (
        {"Python": 2, "Python_Backend_Simulator": 5},
        {"Python": 7, "Backend": 5, "Simulator": 5, "Python_Backend": 5, "Python_Simulator": 5,
         "Backend_Simulator": 5, "Python_Backend_Simulator": 5}),
    "two sets and both": ({"Python": 3, "Backend": 3, "Python_Backend": 2},
                          {"Python": 5, "Backend": 5, "Python_Backend": 2}),
    "one inside the other": ({"Python": 5, "Python_Backend": 5},
                             {"Python": 10, "Backend": 5, "Python_Backend": 5}),
    "always both": ({"Python_Backend": 5}, {"Python": 5, "Backend": 5, "Python_Backend": 5}),
}


@READERS
@pytest.mark.parametrize("case", VENN)
def test_t10_venn(case, rows_of, tmp_path):
    exact, inclusive = VENN[case]
    spans, at = {}, 0
    for members, ns in exact.items():
        for category in members.split("_"):
            spans.setdefault(category, []).append((at, at + ns))
        at += ns
    path = write(tmp_path / "trace.txt", [Process("p", (0, at), [], list(spans.items()))])
    rows = [row for row in rows_of(path, "venn") if row["sets"] == "layers"]
    told = {categories(row["members"], 0): row for row in rows}
    assert {on: row["exact_ns"] for on, row in told.items() if row["exact_ns"]} == {
        frozenset(members.split("_")): ns for members, ns in exact.items()}
    assert {on: row["inclusive_ns"] for on, row in told.items()} == {
        frozenset(members.split("_")): ns for members, ns in inclusive.items()}


def random_spans(rng, window, most):
    """Disjoint spans in order; some touch, some are empty."""
    ends = sorted(rng.randint(*window) for _ in range(2 * rng.randint(0, most)))
    return list(zip(ends[::2], ends[1::2]))


def random_operations(rng, window, depth=0):
    out = []
    for begin, end in random_spans(rng, window, 3):
        out.append((rng.choice("ABCD"), begin, end))
        if depth < 3 and end > begin:
            out += random_operations(rng, (begin, end), depth + 1)
    return out


def random_process(rng, number):
    begin = rng.randint(0, 20)
    window = (begin, begin + rng.randint(1, 100))
    chosen = [rng.choice([PY, BACK, CUDA, SIM, GPU, GPU]) for _ in range(rng.randint(0, 7))]
    return Process(f"p{number}", window, random_operations(rng, window),
                   [(category, random_spans(rng, window, 6)) for category in chosen])


@pytest.mark.parametrize("seed", range(10))
def test_random_traces_equal_a_brute_force(seed, tmp_path):
    rng = random.Random(seed)
    seen = 0
    for i in range(100):
        processes = [random_process(rng, n) for n in range(rng.randint(2, 8))]
        path = write(tmp_path / f"{i}.txt", processes)
        rows = by_module(path, "overlap")
        for process in processes:
            wanted = brute_overlap(process)
            assert overlap(rows, process.name) == wanted, path.read_text()
            seen += len(wanted)
        assert concurrency(by_module(path, "concurrency")) == brute_concurrency(processes), (
            path.read_text())
    assert seen > 3000
