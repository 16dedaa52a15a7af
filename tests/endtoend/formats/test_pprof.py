"""`export --to=pprof`, read by Google's own messages, which TensorFlow carries."""

import collections
import gzip
import importlib.util

import pytest
from runs import ROOT, crosscut, record_script

PROGRAM = """
import crosscut, threading, time
def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end: pass
def work():
    with crosscut.operation("outer"):
        with crosscut.operation("inner"): spin(0.3)
        spin(0.1)
beside = threading.Thread(target=spin, args=(0.3,), name="beside")
beside.start()
work()
beside.join()
"""


@pytest.fixture(scope="module")
def messages():
    """profile_pb2, without the import of all of TensorFlow."""
    found = sorted((ROOT / ".venv-tensorflow").glob(
        "lib/python*/site-packages/tensorflow/tsl/profiler/protobuf/profile_pb2.py"))
    if not found:
        pytest.skip("no TensorFlow in .venv-tensorflow")
    pytest.importorskip("google.protobuf")
    spec = importlib.util.spec_from_file_location("profile_pb2", found[-1])
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # protobuf refuses what another version of it made
        pytest.skip(f"profile_pb2 of TensorFlow cannot be loaded here: {error}")
    return module


class Profile:
    def __init__(self, messages, data):
        self.raw = raw = messages.Profile()
        raw.ParseFromString(data)
        texts = raw.string_table
        assert texts[0] == ""
        functions = {one.id: one for one in raw.function}
        mappings = {one.id: texts[one.filename] for one in raw.mapping}
        assert 0 not in functions and 0 not in mappings
        self.types = [(texts[one.type], texts[one.unit]) for one in raw.sample_type]
        self.frames = {}  # by location: (function, file, line, library)
        for one in raw.location:
            (line,) = one.line
            function = functions[line.function_id]
            self.frames[one.id] = (texts[function.name], texts[function.filename], line.line,
                                   mappings.get(one.mapping_id, ""))
        self.samples = [([self.frames[place] for place in one.location_id], tuple(one.value),
                         {texts[label.key]: texts[label.str] for label in one.label})
                        for one in raw.sample]
        self.comments = [texts[one] for one in raw.comment]
        assert texts[raw.default_sample_type] == "time"

    def stacks(self, **labels):
        """ns by the names of a stack, the outermost first, as `collapsed` has it."""
        sums = collections.Counter()
        for frames, (_, ns), found in self.samples:
            if labels.items() <= found.items():
                sums[";".join(name for name, *_ in reversed(frames))] += ns
        return sums


def test_spans_have_the_times_and_calls_of_their_paths(tmp_path, messages):
    run = tmp_path / "run"
    assert record_script(run, PROGRAM, "--python=off").returncode == 0
    crosscut("export", run, "-o", tmp_path / "run.pprof.gz")
    profile = Profile(messages, gzip.decompress((tmp_path / "run.pprof.gz").read_bytes()))
    assert profile.types == [("calls", "count"), ("time", "nanoseconds")]
    collapsed = dict(line.rsplit(" ", 1) for line in
                     crosscut("export", run, "--to=collapsed", "-o", "-").splitlines())
    assert {stack: ns for stack, ns in profile.stacks().items() if ns} == {
        stack: int(ns) for stack, ns in collapsed.items()}
    assert profile.stacks(thread="main")["outer;inner"] > 250e6
    ((values, labels),) = [(values, labels) for frames, values, labels in profile.samples
                           if [frame[0] for frame in frames] == ["inner", "outer"]]
    assert values[0] == 1 and labels["process"].startswith("run.py (pid ")
    assert profile.raw.duration_nanos > 400e6 and profile.raw.time_nanos > 1.6e18
    assert "spans" in profile.comments[0]


def test_samples_have_lines_libraries_and_the_time_that_they_stand_for(tmp_path, messages):
    run = tmp_path / "run"
    assert record_script(run, PROGRAM, "--python=samples").returncode == 0
    crosscut("export", run, "-o", tmp_path / "run.pprof")
    profile = Profile(messages, (tmp_path / "run.pprof").read_bytes())
    assert profile.types == [("samples", "count"), ("time", "nanoseconds")]
    lines = crosscut("export", run, "--to=collapsed-samples", "-o", "-").splitlines()
    assert sum(profile.stacks().values()) == sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    spinning = {frame for frames, *_ in profile.samples for frame in frames if frame[0] == "spin"}
    assert {(file, line) for _, file, line, _ in spinning} <= {("run.py", 4), ("run.py", 5)}
    assert {labels["thread"] for _, _, labels in profile.samples} >= {"main", "beside"}
    assert "samples" in profile.comments[0]
