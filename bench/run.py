"""make bench: every suite, one table, JSON beside it.

Usage: run.py [--rounds N] [--only SUITE,...] [-o build/bench]
Ratios come from interleaved rounds inside one process; every group has an A/A control. A line
with a bound says whether it holds; nothing here fails a build.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

import harness
import rl_overhead

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
PACKAGE = BUILD / "python"
CROSSCUT = PACKAGE / "crosscut" / "bin" / "crosscut"

# (group prefix, name, field, of): field of the line, divided by the same field of line `of` of the
# group where given; must be <= the bound (>= where negative).
BOUNDS = [
    ("span", "span, inline", "ratio", None, 1.12),
    ("span", "span, C ABI", "ratio", None, 1.25),
    ("disabled", "disabled span, inline", "ns", None, 1.5),
    ("disabled", "disabled mark, C ABI", "ns", None, 1.5),
    # By the whole process, at most what the peer adds.
    *((group, "crosscut", "added_ns", peer, 1.0) for group, peer in (
        ("op", "torch.profiler"), ("step", "torch.profiler"), ("Python call", "cProfile"),
        ("Python call", "VizTracer (no C calls)"))),
    ("step, with the boundary: MLP", "crosscut", "ratio", None, 1.20),
    ("blocks: ", "the defaults", "ratio", None, 1.02),
    ("blocks: mlp", "--sources=operations --python=off", "ratio", None, 1.01),
    ("blocks: mlp", "--plan=control=100", "ratio", None, 1.01),
    ("blocks: mlp", "--plan=full", "ratio", None, 1.15),
    ("plan, agreement", "MLP: agree with a full recording", "value", None, -85.0),
    ("plan, agreement", "MLP, 0.6 ms: agree with a full recording", "value", None, -85.0),
    ("plan, agreement", "transformer: agree with a full recording", "value", None, -85.0),
    ("boundary: MLP", "crosscut", "ratio", None, 1.03),
    ("operation scope", "crosscut.operation, recording", "ns",
     "record_function, nothing records", 0.05),
    ("dormant: ", "dormant", "upper", None, 1.01),
    (rl_overhead.GROUP, "crosscut", "added_ns", "cProfile", 1.0),
    (rl_overhead.GROUP, "crosscut", "added_ns", "VizTracer", 1.0),
    (rl_overhead.GROUP, "crosscut", "added_ns", "torch.profiler", 1.0),
    (rl_overhead.GROUP, "crosscut, every step whole", "added_ns", "VizTracer", 1.0),
    (rl_overhead.GROUP, "crosscut, every step whole", "added_ns", "torch.profiler", 1.0),
    ("stop", "stop with 1 M events held", "value", None, 10.0),
    ("stop", "peak memory beyond before the start", "value", None, 64.0),
    ("stop", "events lost", "value", None, 0.0),
    ("export", "crosscut, stop and export", "value", None, 1.0),
    ("export", "crosscut, memory of the program", "value", None, 64.0),
    ("export", "crosscut, memory of the export", "value", None, 64.0),
    ("export", "crosscut, growth while recording", "value", None, 2.0),
    ("export", "crosscut, kept of an operator", "value", None, 6.0),
    ("plugins", "demo", "value", None, 1.0),
    ("plugins", "one that hangs in init", "value", None, 1.0),
    ("plugins", "one that hangs in start", "value", None, 1.0),
    ("plugins", "one that hangs in stop", "value", None, 1.0),
    ("plugins", "one that hangs in collect", "value", None, 1.0),
    ("pack", "repeating, bytes per span", "value", None, 3.5),
    ("pack", "random, bytes per span", "value", None, 5.0),
    ("pack", "repeating, ns per span", "value", None, 20.0),
    ("pack", "random, ns per span", "value", None, 35.0),
    ("engine", "keyed overlap", "value", None, -20.0),
    ("engine", "keyed overlap, probes accounted", "value", None, -20.0),
    ("import", "crosscut", "value", None, -2.0),
    ("import", "times HTA's speed", "value", None, -25.0),
    ("import", "of HTA's memory", "value", None, 0.125),
    ("large", "plain, info: memory beyond 32 MiB, of the tables", "value", None, 2.0),
    ("large", "compressed, info: memory beyond 32 MiB, of the tables", "value", None, 2.0),
    ("processes: 80 M spans", "sets of 8 processes, from file", "value", None, -15.0),
    ("processes: 500 M spans, 1536 MiB", "memory", "value", None, 2048.0),
    ("report", "10 M spans, text", "value", None, 3.0),
    ("report", "10 M spans, page in all", "value", None, 3.0),
    ("report", "10 M spans, size of the page", "value", None, 5.0),
]


broken = []  # commands that failed: their figures are missing


def output_lines(command, env=None, timeout=900):
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout)
    if result.returncode != 0:
        broken.append(command)
        print(f"bench: {' '.join(map(str, command))} ended with {result.returncode}:\n"
              f"{result.stderr[-2000:]}", file=sys.stderr)
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def recorded(script, flags, arguments, python=sys.executable):
    """Lines of a suite that runs under `crosscut record`."""
    with tempfile.TemporaryDirectory() as run:
        env = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{ROOT / 'bench'}")
        return output_lines([CROSSCUT, "record", "-o", f"{run}/run", "--plan=full",
                             "--control-steps=0", *flags,
                             "--", python, ROOT / "bench" / script, *map(str, arguments)], env)


def other_pythons():
    cache = (BUILD / "CMakeCache.txt").read_text()
    for line in cache.splitlines():
        if line.startswith("CROSSCUT_PYTHONS:"):
            return [p for p in line.split("=", 1)[1].split(";") if p]
    return []


def with_packages(python):
    """An environment of that interpreter's own with VizTracer and NumPy, the versions that a fresh
    machine gets.

    Made once and kept; without a way to install them the interpreter itself, and fewer lines.
    """
    version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                             capture_output=True, text=True, check=True).stdout.strip()
    home = ROOT / "build" / f"bench-venv-{version}"
    inside = home / "bin" / "python"
    ready = home / "viztracer and numpy"
    if ready.exists():
        return inside
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(exist_ok=True)
    for command in ([python, "-m", "venv", home],
                    [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                     "viztracer", "numpy"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"bench: no VizTracer and NumPy for Python {version}: {done.stderr[-500:]}",
                  file=sys.stderr)
            return python
    ready.touch()
    return inside


def has_numpy(python):
    return subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0


def suite_native(rounds):
    return (output_lines([BUILD / "bench" / "bench_spans"]) +
            output_lines([BUILD / "bench" / "bench_format"]) +
            output_lines([BUILD / "bench" / "bench_engine"]))


def suite_stop(rounds):
    with tempfile.TemporaryDirectory() as work:
        run = f"{work}/run"
        lines = output_lines([BUILD / "bench" / "bench_stop", run, str(rounds)])
        drops = subprocess.run([CROSSCUT, "table", run, "drops", "--format=json"], check=True,
                               capture_output=True, text=True)
        lost = sum(json.loads(drops.stdout)["columns"]["count"])
        lines.append(value("stop", "events lost", [lost], "events"))
    return lines + output_lines([sys.executable, ROOT / "bench" / "stop_torch.py"])


def value(group, name, values, unit):
    q25, median, q75 = harness.quartiles(values)
    return {"group": group, "name": name, "value": median, "value_q25": q25, "value_q75": q75,
            "unit": unit}


def timed_report(run, flags, count):
    seconds = []
    for _ in range(count):
        begin = time.monotonic()
        subprocess.run([CROSSCUT, "report", run, *flags], check=True, capture_output=True)
        seconds.append(time.monotonic() - begin)
    return seconds


def suite_report(rounds):
    """A run of 10 M spans: seconds of the full report as text and as a page, the page's size."""
    with tempfile.TemporaryDirectory() as work:
        run, page = f"{work}/run", f"{work}/report.html"
        subprocess.run([BUILD / "bench" / "record_spans", run, "10"], check=True)
        count = max(3, rounds // 4)
        return [
            value("report", "10 M spans, text", timed_report(run, [], count), "s"),
            value("report", "10 M spans, page in all",
                  timed_report(run, ["--format=html", "-o", page], count), "s"),
            value("report", "10 M spans, size of the page", [os.path.getsize(page) / 1e6], "MB"),
        ]


def suite_export(rounds):
    """A million operators, stopped and exported, beside torch.profiler's."""
    env = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{ROOT / 'bench'}")
    lines = []
    for what in ("plain", "shapes"):
        for recorder, count in (("crosscut", max(3, rounds // 6)), ("torch.profiler", 1)):
            found = {}
            for _ in range(count):
                with tempfile.TemporaryDirectory() as work:
                    for line in output_lines([sys.executable, ROOT / "bench" / "export_torch.py",
                                              recorder, what, work, CROSSCUT], env):
                        found.setdefault((line["group"], line["name"], line["unit"]),
                                         []).append(line["value"])
            lines += [value(group, name, values, unit)
                      for (group, name, unit), values in found.items()]
    return lines


def suite_torch(rounds):
    """Operators alone beside torch.profiler; then training steps as recorded by default."""
    return (recorded("torch_ops.py", ["--sources=pytorch", "--python=off"], [rounds]) +
            recorded("torch_ops.py", [], [rounds, "steps"]))


def suite_more(rounds):
    """Operators with shapes, allocations and stacks, beside torch.profiler with the same."""
    alone = ["--sources=pytorch", "--python=off"]
    return (recorded("torch_ops.py", [*alone, "--shapes"], [rounds, "shapes"]) +
            recorded("torch_ops.py", [*alone, "--allocations"], [rounds, "memory"]) +
            recorded("torch_ops.py", ["--python=calls"], [rounds, "stacks"]))


def suite_plans(rounds):
    """Whether a balanced plan's totals are a full recording's."""
    env = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{ROOT / 'bench'}")
    with tempfile.TemporaryDirectory() as work:
        return output_lines([sys.executable, ROOT / "bench" / "plans_agree.py", "20", work], env)


def suite_blocks(rounds, table="costs"):
    """What recording costs a step of many programs; ratios with 95 % intervals."""
    return output_lines([sys.executable, ROOT / "bench" / "blocks.py", "--table", table, "--json",
                         "--rounds", str(4 * rounds)], timeout=7200)


def suite_peers(rounds):
    """The same of other profilers."""
    return suite_blocks(rounds, "peers")


def suite_boundary(rounds):
    lines = (recorded("boundary.py", ["--sources=pycalls"], [rounds]) +
             recorded("boundary.py", ["--sources=pycalls", "--python=samples"],
                      [rounds, "samples"]))
    for python in filter(has_numpy, map(with_packages, other_pythons())):
        lines += recorded("boundary.py", ["--sources=pycalls"], [rounds, "calls"], python)
    return lines


def suite_operation(rounds):
    return recorded("operation.py", ["--sources=none", "--python=off"], [rounds])


def suite_pycalls(rounds):
    lines = []
    for python in [sys.executable, *map(with_packages, other_pythons())]:
        lines += recorded("pycalls.py", ["--python=calls"], [rounds], python)
    return lines


def tensorflow_python():
    """A Python with TensorFlow and JAX, or None."""
    asked = os.environ.get("CROSSCUT_TENSORFLOW_PYTHON")
    for python in ([asked] if asked else [ROOT / ".venv-tensorflow" / "bin" / "python",
                                          sys.executable]):
        question = "import importlib.util as u, sys; " \
                   "sys.exit(not (u.find_spec('tensorflow') and u.find_spec('jax')))"
        if (pathlib.Path(python).exists() and
                subprocess.run([python, "-c", question]).returncode == 0):
            return python
    print("bench: no Python with TensorFlow and JAX", file=sys.stderr)
    return None


def suite_frameworks(rounds):
    """TensorFlow and JAX steps, as recorded by default and with the boundary alone."""
    python = tensorflow_python()
    if python is None:
        return []
    lines = []
    for name in ("tensorflow", "jax"):
        lines += recorded("frameworks.py", [], [name, rounds], python)
        lines += recorded("frameworks.py", ["--sources=pycalls"], [name, rounds, "boundary"],
                          python)
    return lines


def suite_plugins(rounds):
    lines = []
    for name in ("bench_opencl_enqueue", "bench_cupti_calls"):
        if (BUILD / "bench" / name).exists():
            lines += output_lines([BUILD / "bench" / name])
    plugins = [PACKAGE / "crosscut" / "plugins" / "demo" / "libdemo.so",
               BUILD / "src" / "host" / "libscripted_plugin.so"]
    lines += output_lines([BUILD / "bench" / "bench_plugin_calls", "200", *plugins])
    env = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{ROOT / 'bench'}")
    return lines + output_lines(
        [sys.executable, ROOT / "bench" / "plugins.py", str(rounds), *plugins], env)


def suite_dormant(rounds):
    """Armed processes beside plain ones: at least 200 quadruples of each program."""
    env = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{ROOT / 'bench'}")
    return output_lines([sys.executable, ROOT / "bench" / "dormant.py", "24",
                         str(max(9, rounds))], env)


def suite_rl(rounds):
    """DQN of Stable-Baselines3, in processes that one recorder each looks at."""
    python = pathlib.Path(os.environ.get("CROSSCUT_RL_PYTHON") or
                          ROOT / ".venv-rl" / "bin" / "python")
    if not python.exists():
        print(f"bench: {python} is not there", file=sys.stderr)
        return []
    viztracer = subprocess.run([with_packages(python), "-c",
                                "import sysconfig; print(sysconfig.get_path('platlib'))"],
                               check=True, capture_output=True, text=True).stdout.strip()
    env = dict(os.environ, PYTHONPATH=f"{PACKAGE}:{ROOT / 'bench'}:{viztracer}")
    return output_lines([python, ROOT / "bench" / "rl_overhead.py", str(max(5, rounds // 3)),
                         CROSSCUT], env, timeout=7200)


def suite_import(rounds):
    env = dict(os.environ, PYTHONPATH=str(ROOT / "bench"))
    return output_lines([sys.executable, ROOT / "bench" / "import_json.py", "400000",
                         str(max(3, rounds // 10)), PACKAGE / "crosscut" / "bin" / "crosscut"], env)


def suite_large(rounds):
    """A trace of 5 GB, plain and compressed, whole and damaged."""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "bench"))
    return output_lines([sys.executable, ROOT / "bench" / "import_large.py", "5", CROSSCUT], env)


def suite_processes(rounds):
    """What several processes did at once, from the run's files."""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "bench"))
    return output_lines([sys.executable, ROOT / "bench" / "many_processes.py", CROSSCUT,
                         BUILD / "bench" / "make_run", "80", str(max(5, rounds // 4))], env)


def suite_huge(rounds):
    """500 M intervals, eight times what their columns may take in memory."""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "bench"))
    return output_lines([sys.executable, ROOT / "bench" / "many_processes.py", CROSSCUT,
                         BUILD / "bench" / "make_run", "500", "3", "1536"], env, timeout=7200)


SUITES = {"native": suite_native, "stop": suite_stop, "report": suite_report,
          "export": suite_export, "import": suite_import, "torch": suite_torch, "more": suite_more,
          "boundary": suite_boundary, "operation": suite_operation, "plans": suite_plans,
          "blocks": suite_blocks, "peers": suite_peers,
          "pycalls": suite_pycalls, "plugins": suite_plugins, "frameworks": suite_frameworks,
          "dormant": suite_dormant, "rl": suite_rl, "processes": suite_processes,
          "large": suite_large, "huge": suite_huge}
ASKED_FOR = ("large", "huge")  # 6 and 15 GB of disk


def verdict(line, lines):
    said = []
    for group, name, field, of, bound in BOUNDS:
        if not line["group"].startswith(group) or line["name"] != name or field not in line:
            continue
        measured = line[field]
        if of is not None:
            others = [x for x in lines if x["group"] == line["group"] and x["name"] == of]
            if not others:
                continue
            measured /= others[0][field]
        holds = measured >= -bound if bound < 0 else measured <= bound
        label = f"{measured:.3g} x {of}" if of else f"{measured:.3g}"
        sign = ">=" if bound < 0 else "<="
        said.append(f"{label} {sign} {abs(bound):g}: {'holds' if holds else 'DOES NOT HOLD'}")
    return "; ".join(said)


def head():
    model = next((x.split(":", 1)[1].strip() for x in open("/proc/cpuinfo") if "model name" in x),
                 platform.machine())
    versions = {"python": platform.python_version(), "kernel": platform.release()}
    for module in ("torch", "numpy", "viztracer"):
        try:
            versions[module] = __import__(module).__version__
        except ImportError:
            pass
    commit = subprocess.run(["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=ROOT,
                            capture_output=True, text=True).stdout.strip()
    return {"commit": commit, "cpu": model, "cores": os.cpu_count(), **versions}


def print_table(lines):
    group = None
    for line in lines:
        if line["group"] != group:
            group = line["group"]
            print(f"\n{group}")
        if "value" in line:
            spread = (f"[{line['value_q25']:.3f}, {line['value_q75']:.3f}]"
                      if "value_q25" in line else "")
            numbers = f"{line['value']:>12.3f} {line['unit']:<14} {spread}"
        else:
            added = f"{line['added_ns']:>+10.1f}" if "added_ns" in line else " " * 10
            numbers = (f"{line['ns']:>12.1f} ns {added}   ratio {line['ratio']:.3f} "
                       f"[{line['ratio_q25']:.3f}, {line['ratio_q75']:.3f}]")
        print(f"  {line['name']:<40} {numbers}   {line['verdict']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--only", default=",".join(s for s in SUITES if s not in ASKED_FOR))
    parser.add_argument("-o", "--out", default=str(ROOT / "build" / "bench"))
    arguments = parser.parse_args()
    shutil.rmtree(arguments.out, ignore_errors=True)
    os.makedirs(arguments.out)
    lines = []
    for suite in arguments.only.split(","):
        lines += SUITES[suite](arguments.rounds)
    for line in lines:
        line["verdict"] = verdict(line, lines)
    machine = head()
    print("Crosscut benchmarks: medians and quartiles of interleaved rounds, ratio to the first "
          "line of each group\n" + ", ".join(f"{k} {v}" for k, v in machine.items()))
    print_table(lines)
    results = pathlib.Path(arguments.out) / "results.json"
    results.write_text(json.dumps({"machine": machine, "lines": lines}, indent=1))
    print(f"\n{results}")
    if broken:
        sys.exit(f"bench: {len(broken)} measurements failed: their figures are missing")


if __name__ == "__main__":
    main()
