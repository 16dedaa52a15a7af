"""What reading costs is in proportion to the input, whatever its stamps, depths and counts say.

Memory: at most 64 MiB and 40 bytes for each byte of input. Time of the processor: at most a second,
and ten for each 100 MB. CROSSCUT_TEST_HOSTILE=100000 does it with larger inputs, as many as
CROSSCUT_TEST_HOSTILE_INPUTS says (tools/soak.py).
"""

import json
import os
import random
import re
import subprocess
import sys
import zlib

import hostile_formats
import hostile_scenes
import pytest
from crosscut import _read
from runs import CROSSCUT

SIZE = int(os.environ.get("CROSSCUT_TEST_HOSTILE", "4000"))
INPUTS = int(os.environ.get("CROSSCUT_TEST_HOSTILE_INPUTS", "0"))
MEMORY_BYTES, MEMORY_PER_BYTE = 64 << 20, 40
SECONDS, SECONDS_PER_BYTE = 1, 1e-7
HANGS_SECONDS = 120  # of the processor: it is ended then, and has failed
ANSWERS = (0, 3)     # all is well; incomplete or unreadable, with a word why


def lines(*command):
    return subprocess.run([CROSSCUT, *command], capture_output=True, text=True,
                          check=True).stdout.splitlines()


TABLES = list(_read.tables())
# A wrong one is answered with those that there are.
EXPORTS = subprocess.run(
    [CROSSCUT, "export", "any", "--to=none", "-o", "none"], capture_output=True,
    text=True).stderr.strip().rpartition("formats are ")[2].split(", ")
assert "chrome" in EXPORTS and "xspace" in EXPORTS
# Rows by event, which no report shows.
LONG_TABLES = ("critical_path_segments", "device_events", "launches", "spans", "memory_events")


def commands(path, out):
    for form in ("text", "markdown", "json", "html"):
        yield ["report", path, f"--format={form}"]
    for table in LONG_TABLES:
        yield ["table", path, table]
    yield ["info", path]
    for form in EXPORTS:
        yield ["export", path, f"--to={form}", "-o", out]


# What a process shares with its parent before it becomes another program counts as its own, so
# that a small one starts them: a line of JSON is a command, a line what it cost.
STARTER = """
import json, os, resource, sys
limit = int(sys.argv[1])
for line in sys.stdin:
    command = json.loads(line)
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            os.execv(command[0], command)
        finally:
            os._exit(127)
    _, status, usage = os.wait4(pid, 0)
    print(json.dumps([usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024,
                      os.waitstatus_to_exitcode(status)]), flush=True)
"""


@pytest.fixture(scope="module")
def measured():
    """What runs a command: seconds of the processor, bytes, exit status."""
    with subprocess.Popen([sys.executable, "-S", "-E", "-c", STARTER, str(HANGS_SECONDS)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        def run(command):
            starter.stdin.write(json.dumps([str(CROSSCUT), *map(str, command)]) + "\n")
            starter.stdin.flush()
            return json.loads(starter.stdout.readline())
        yield run
        starter.stdin.close()


def over_budget(measured, path, size, out):
    """What of the commands costs too much, or fails otherwise than by a word."""
    memory, seconds = MEMORY_BYTES + MEMORY_PER_BYTE * size, SECONDS + SECONDS_PER_BYTE * size
    found = []
    for command in commands(path, out):
        took, most, status = measured(command)
        if took > seconds:  # once more: others may have had the caches
            took = min(took, measured(command)[0])
        if took > seconds or most > memory or status not in ANSWERS:
            found.append(f"{' '.join(map(str, command[:1] + command[2:3]))}: {took:.2f} of "
                         f"{seconds:.2f} s, {most >> 20} of {memory >> 20} MiB, status {status}")
        out.unlink(missing_ok=True)
    return found


def chosen():
    """A format for each scene, another with each run of this list."""
    formats = list(hostile_formats.FORMATS)
    scenes = list(hostile_scenes.SCENES)
    pairs = [(scene, formats[(i + turn) % len(formats)])
             for turn in range(len(formats)) for i, scene in enumerate(scenes)]
    return pairs[:INPUTS or len(scenes)]


@pytest.mark.parametrize("scene, form", chosen())
def test_reading_costs_in_proportion_to_the_input(tmp_path, measured, scene, form):
    events = hostile_scenes.SCENES[scene](SIZE, random.Random(zlib.crc32(scene.encode())))
    path, size = hostile_formats.FORMATS[form](events, tmp_path / "input")
    assert over_budget(measured, path, size, tmp_path / "out") == []


def test_many_processes_that_wait_for_one_cost_in_proportion(tmp_path, measured):
    calls, children = 5 * SIZE, SIZE // 10
    path, end = tmp_path / "input.txt", 10 * calls
    sample = "instant [sample] {}\narg covers_ns 20\narg \"Own line\" \"a.py:{} f\"\n"
    with open(path, "w") as out:
        out.write(f"# crosscut trace\nprocess p window=0..{end}\nthread main base=python main\n")
        for i in range(calls):
            out.write(f"span f{i % 7} {10 * i + 2} {10 * i + 8} framework\n")
        for i in range(0, calls, 2):
            out.write(sample.format(10 * i + 5, i % 5))
        for child in range(children):
            out.write(f"process c{child} parent=p window=0..{end}\n"
                      f"thread main base=python main\nspan os.read 1 {end - 1} idle\n"
                      + sample.format(5, 9))
    assert over_budget(measured, path, path.stat().st_size, tmp_path / "out") == []


def test_every_export_is_tried():
    said = subprocess.run([CROSSCUT, "export", "--help"], capture_output=True, text=True,
                          check=True).stdout
    forms = [line.split()[0] for line in said.split("ends with:\n")[1].splitlines()
             if re.match(r" {36}\S", line)]
    assert sorted(forms) == sorted(EXPORTS)
    assert set(LONG_TABLES) <= set(TABLES)


@pytest.mark.parametrize("verb", [["report"], ["info"], ["table"], ["export", "--to=chrome"]])
def test_a_pipe_or_device_is_refused_at_once(tmp_path, verb):
    os.mkfifo(tmp_path / "pipe")
    tail = {"table": ["overlap"], "export": ["-o", tmp_path / "out"]}.get(verb[0], [])
    for path in (tmp_path / "pipe", "/dev/zero"):
        result = subprocess.run([CROSSCUT, *verb, path, *tail], capture_output=True, text=True,
                                timeout=60)
        assert result.returncode == 3, result
        assert str(path) in result.stderr
        assert "copy its output to a file" in result.stderr


def test_a_pipe_or_device_is_not_imported(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        result = subprocess.run([CROSSCUT, "import", path, "-o", tmp_path / "run"],
                                capture_output=True, text=True, timeout=60)
        assert result.returncode == 3, result
        assert "copy its output to a file" in result.stderr
        assert not (tmp_path / "run").exists()


def test_a_stack_too_deep_to_be_lines_is_told_by_a_count(tmp_path):
    events = hostile_scenes.deep_with_names(20_000, random.Random(1))
    path, _ = hostile_formats.text(events, tmp_path / "input")
    out = tmp_path / "stacks"
    subprocess.run([CROSSCUT, "export", path, "--to=collapsed", "-o", out], check=True,
                   capture_output=True)
    text = out.read_text().splitlines()
    assert out.stat().st_size < MEMORY_BYTES
    deepest = max(text, key=len)
    folded = int(deepest.rsplit("(", 1)[1].split()[0])
    assert folded + len(text) - 1 == 20_000
    assert sum(int(line.rsplit(" ", 1)[1]) for line in text) == 4 * 20_000 * 10


def test_a_span_beyond_the_window_is_told(tmp_path):
    path = tmp_path / "input.txt"
    path.write_text("# crosscut trace\nprocess p pid=7 window=0..1000000000\n"
                    "thread main tid=7 base=python\nspan work 10 20 framework\n"
                    f"device gpu device=0 stream=7\nspan kernel 30 {2**60} device\n")
    said = "\n".join(lines("report", path))
    assert "1 span of p (pid 7) reaches beyond what was recorded" in said
    page = tmp_path / "page.html"
    lines("report", path, "--format=html", "-o", page)
    assert page.stat().st_size < 2 << 20
