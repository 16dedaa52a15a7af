"""install() and uninstall() of the adapters in the real frameworks: nothing stays changed."""

import pathlib
import subprocess

import crosscut
from frameworks import python_with

PROGRAM = """
import sys, types
from crosscut import adapters
from crosscut.adapters import FRAMEWORK as adapter

def looked_at():
    found = {}
    for name, (_, _) in adapters.ADAPTERS.items():
        module = sys.modules.get(name)
        if module is None or not name.startswith(PREFIXES):
            continue
        for owner in [module, *(v for v in vars(module).values()
                                if isinstance(v, type) and v.__module__ == name)]:
            for key, value in list(vars(owner).items()):
                if callable(value) or isinstance(value, types.ModuleType):
                    found[name, owner.__name__, key] = value
    return found

def flags(): return FLAGS
before, flags_before = looked_at(), flags()
for name, (which, function) in adapters.ADAPTERS.items():
    if which == "FRAMEWORK" and name in sys.modules:
        getattr(adapter, function)(sys.modules[name])
while_in = looked_at()
changed = [key for key, value in before.items()
           if isinstance(value, types.FunctionType) and while_in.get(key) is not value]
USE
adapter.uninstall()
after = looked_at()
print(changed, [key for key in before if after.get(key) is not before[key]],
      sorted(after.keys() - before.keys()), flags() == flags_before)
"""


def check(python, framework, head, use, flags="0"):
    prefixes = {"tensorflow": ("tensorflow.", "keras."), "jax": ("jax.",)}[framework]
    program = head + (PROGRAM.replace("FRAMEWORK", framework).replace("PREFIXES", repr(prefixes))
                      .replace("USE", use).replace("FLAGS", flags))
    package = pathlib.Path(crosscut.__file__).parent.parent
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=300,
                          env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(package),
                               "TF_CPP_MIN_LOG_LEVEL": "2"})
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[] [] [] True\n", done.stderr


def test_tensorflow_is_as_it_was():
    check(python_with("tensorflow"), "tensorflow",
          "import tensorflow as tf\ntf.keras.optimizers.SGD\n",
          "tf.function(lambda x: x + 1)(tf.ones(3))")


def test_jax_is_as_it_was():
    check(python_with("jax"), "jax",
          "import jax, jax.numpy as jnp, jaxlib._jax\nimport crosscut._sources as s\n"
          "s.activate_boundary()\nf = jax.jit(lambda x: x + 1)\n",
          "f(jnp.ones(3)); f(jnp.ones(3))\n"
          "with jax.profiler.StepTraceAnnotation('s', step_num=1): f(jnp.ones(3))",
          "jaxlib._jax.PjitFunction.__flags__ & 2048")
