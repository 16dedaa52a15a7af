"""What a session takes longer because of plugins: milliseconds inside crosscut.start(), 200 steps
with their switches of level, and crosscut.stop(), in a process of its own each round, without a
plugin, with one that works, and with ones that hang. Two sessions without a plugin differ by more
than a plugin costs; plugin_calls.cc tells that. Prints one JSON line per variant and value.

Usage: plugins.py ROUNDS DEMO.so SCRIPTED.so
"""

import json
import os
import random
import subprocess
import sys
import tempfile

import harness

CHILD = """
import sys, time, crosscut
clock = time.perf_counter
begin = clock()
assert crosscut.start(sys.argv[1], control_percent=20, seed=5)
spent = clock() - begin
for _ in range(200):
    begin = clock()
    crosscut.step()
    spent += clock() - begin
    time.sleep(0.0002)
begin = clock()
crosscut.stop()
print((spent + clock() - begin) * 1e3, flush=True)
import os
os._exit(0)
"""


def spent_ms(plugin):
    with tempfile.TemporaryDirectory() as work:
        env = dict(os.environ, CROSSCUT_PLUGINS=plugin)
        out = subprocess.run([sys.executable, "-c", CHILD, f"{work}/run"], env=env, check=True,
                             capture_output=True, text=True).stdout
    return float(out)


def main():
    rounds, demo, scripted = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    variants = {"no plugin": "", "the same again (A/A)": "", "demo": demo}
    for call in ("init", "start", "stop"):
        variants[f"one that hangs in {call}"] = f"{scripted},mode=hang in {call}"
    ms = {name: [] for name in variants}
    generator = random.Random(12345)
    for _ in range(rounds):
        for name in generator.sample(list(variants), len(variants)):
            ms[name].append(spent_ms(variants[name]))
    for name, values in ms.items():
        added = [a - b for a, b in zip(values, ms["no plugin"])]
        q25, q50, q75 = harness.quartiles(added)
        print(json.dumps({"group": "sessions with plugins: beyond no plugin", "name": name,
                          "value": q50, "value_q25": q25, "value_q75": q75,
                          "unit": f"ms (worst {max(added):.2f})"}), flush=True)


if __name__ == "__main__":
    main()
