"""A JAX loop with one planted fault, by name: sys.argv[1]."""
import os
import sys
import tempfile
import time

import jax
import jax.numpy as jnp
import numpy

from clock import PLANTED, Clock

FAULT = sys.argv[1]
DATA = numpy.random.default_rng(1).random(200_000)
TOOK = []
FILE = os.path.join(tempfile.mkdtemp(), "x.npy")


@jax.jit
def update(w, x):
    return w - 0.01 * jax.grad(lambda v: jnp.tanh(x @ v).sum())(w)


def jax_python():
    sum([i & 7 for i in range(200_000)])  # HERE


def jax_sleep():
    time.sleep(0.01)  # HERE


def jax_augment():
    numpy.sort(DATA[:150_000])  # HERE


def jax_callback_part(value):
    begin = time.perf_counter()
    sum([i & 7 for i in range(200_000)])  # HERE
    TOOK.append(time.perf_counter() - begin)
    return value


@jax.jit
def calls_back(x):
    return jax.pure_callback(jax_callback_part, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def jax_callback():
    calls_back(x).block_until_ready()
    return TOOK.pop()


def jax_save():
    numpy.save(FILE, numpy.ones(2_000_000))  # HERE


w, x = jnp.ones((64, 64)), jnp.ones((32, 64))
w = update(w, x).block_until_ready()  # compiles it
clock = Clock()
for STEP in clock.steps(120):
    w = update(w, x).block_until_ready()
    if PLANTED:
        clock.time(globals()[FAULT])
