"""torch.compile reads functions whose calls go through ours as it reads others: the same graphs, no
break more, and guards that hold."""

import subprocess
import sys

from conftest import PACKAGE

PROGRAM = """
import sys
import torch
torch._dynamo.config.error_on_recompile = True
sizes = []

def backend(graph, examples):
    sizes.append(len(graph.graph.nodes))
    return graph.forward

def scaled(x, k=2, *, z=3):
    return x * k + z

def outer():
    held = torch.ones(3)

    def shifted(x, d=1):
        return x + held + d
    return shifted

shifted = outer()

class Env:
    def step(self, action, times=2):
        return scaled(action) * times

    @property
    def size(self):
        return 4

    def __call__(self, x):
        return self.step(x)

env = Env()
if sys.argv[1:] == ["led"]:
    from crosscut import _record
    for function in (scaled, shifted, Env.step, Env.size.fget, Env.__call__):
        assert _record.lead_calls(_record.around(function))

def within():
    def inner(x):
        return scaled(x) + 1
    return lambda x: inner(x)

for whole in (lambda x: scaled(x), lambda x: scaled(x, z=5), lambda x: shifted(x), within(),
              lambda x: env(x) * env.size, lambda x: list(map(scaled, [x, x]))[1], scaled, shifted):
    compiled = torch.compile(whole, backend=backend, fullgraph=True)
    print([compiled(torch.ones(3)).tolist() for _ in range(3)], sizes)
explained = torch._dynamo.explain(lambda x: env(x))(torch.ones(2))
print(explained.graph_count, explained.graph_break_count, len(explained.out_guards))
"""


def test_compiled_programs_have_the_graphs_and_guards_that_they_have_unrecorded(tmp_path):
    script = tmp_path / "compiled.py"
    script.write_text(PROGRAM)
    plain = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert plain.returncode == 0, plain.stderr
    command = [PACKAGE / "bin/crosscut", "record", "-o", tmp_path / "run", "--", sys.executable]
    recorded = subprocess.run([*command, script, "led"], capture_output=True, text=True)
    assert recorded.stdout == plain.stdout, recorded.stderr
