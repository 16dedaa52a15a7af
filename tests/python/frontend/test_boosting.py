"""Rounds of boosting, and what scikit-learn fits step by step, by others than these libraries."""

import collections

import crosscut
import pytest

LIBRARIES = {
    "lightgbm/basic.py": "class Booster:\n"
                         "    def update(self, train_set=None, fobj=None): return False\n",
    "xgboost/core.py": "class Booster:\n"
                       "    def update(self, data, number, fobj=None):\n"
                       "        if fobj: self.boost(data)\n"
                       "    def boost(self, data): pass\n",
    "sklearn/_loss/loss.py": "class BaseLoss:\n"
                             "    def gradient(self, y): return y\n"
                             "    def gradient_hessian(self, y): return y, y\n",
    "sklearn/ensemble/_gb.py": "class BaseGradientBoosting:\n"
                               "    def _fit_stage(self, number, loss):\n"
                               "        for _ in range(3): loss.gradient(number)\n",
    "sklearn/neural_network/_stochastic_optimizers.py":
        "class BaseOptimizer:\n"
        "    def update_params(self, params, grads): pass\n",
}
PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
"""


@pytest.fixture
def recorded(recorder):
    """Records a program that imports such libraries; its steps, and its operations by count."""
    for place, text in LIBRARIES.items():
        recorder.script(place, text)
        for folder in range(1, place.count("/") + 1):
            recorder.script("/".join([*place.split("/")[:folder], "__init__.py"]), "")

    def run(program):
        folder = str(recorder.script("program.py", "").parent)
        recorder.python(PROGRAM.format(folder=folder) + program)
        run = crosscut.read(recorder.run_dir)
        counts = collections.Counter({row["operation"]: row["count"]
                                      for row in run.table("operations").rows()})
        return len(list(run.table("steps").rows())), counts

    return run


@pytest.mark.parametrize(("program", "steps"), [
    ("import lightgbm.basic as l; b = l.Booster()\nfor _ in range(40): b.update()", 40),
    ("import lightgbm.basic as l; folds = [l.Booster() for _ in range(5)]\n"
     "for _ in range(40): [fold.update() for fold in folds]", 40),
    ("import xgboost.core as x; b = x.Booster()\nfor n in range(40): b.update(0, n)", 40),
    ("import xgboost.core as x; b = x.Booster()\nfor n in range(40): b.update(0, n, print)", 40),
    ("import sklearn.ensemble._gb as g, sklearn._loss.loss as l\n"
     "b, loss = g.BaseGradientBoosting(), l.BaseLoss()\n"
     "for n in range(40): b._fit_stage(n, loss)", 40),
    ("import sklearn._loss.loss as l; loss = l.BaseLoss()\n"
     "for n in range(40): loss.gradient_hessian(n)", 40),
    ("import sklearn.neural_network._stochastic_optimizers as s; o = s.BaseOptimizer()\n"
     "for _ in range(40): o.update_params(0, 0)", 40),
], ids=["lightgbm", "folds", "xgboost", "own objective", "stages", "histograms", "network"])
def test_a_round_is_a_step(recorded, program, steps):
    found, counts = recorded(program)
    assert found == steps
    assert counts["update"] > 0 or "gradient_hessian" in program


def test_a_round_that_fails_is_none(recorded):
    found, _ = recorded("""
import lightgbm.basic as l
def fails(self, train_set=None, fobj=None): raise ValueError("x")
class Mine(l.Booster): pass
b = l.Booster()
for n in range(20):
    b.update()
    try: l.Booster.update(b, 1, 2, 3)
    except TypeError: pass
""")
    assert found == 20
