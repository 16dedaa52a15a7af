"""Sessions that a PyTorch program starts and stops itself."""

import os
import subprocess
import sys


import crosscut
from runs import PACKAGE

PROGRAM = """
import sys, torch, crosscut
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for run in sys.argv[1:]:
    assert crosscut.start(run, control_percent=0), crosscut.error()
    for _ in range(10):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    crosscut.stop()
"""


def test_every_session_finds_steps_operations_and_operators(tmp_path):
    runs = [tmp_path / name for name in ("first", "second", "third")]
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    subprocess.run([sys.executable, script, *runs], check=True, timeout=300,
                   env=dict(os.environ, PYTHONPATH=str(PACKAGE)))
    for run in map(crosscut.read, runs):
        assert len(run.table("steps")) >= 9
        counts = {row["operation"]: row["count"] for row in run.table("operations").rows()}
        assert counts["forward"] == counts["backward"] == counts["optimizer"] == 10
        names = run.table("functions")["name"]
        assert "aten::linear" in names and "torch.Tensor.sum" in names
        states = {row["name"]: row["state"] for row in run.table("sources").rows()}
        assert states["pytorch"] == states["pycalls"] == states["operations"] == "on"
