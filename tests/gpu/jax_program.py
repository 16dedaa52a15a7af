"""JAX on a CUDA device: jax_program.py MODE [OUT]: plain trains twice and prints CLOCK_MONOTONIC's
ns before the second time; profiler does the second under jax.profiler, its profile into the folder
OUT.
"""

import sys
import time

import jax
import jax.numpy as jnp

STEPS = 20


def loss(weights, inputs):
    hidden = jnp.maximum(inputs @ weights[0], 0)
    return jnp.square(hidden @ weights[1]).mean()


@jax.jit
def step(weights, inputs):
    slopes = jax.grad(loss)(weights, inputs)
    return [weight - 0.01 * slope for weight, slope in zip(weights, slopes)]


def train():
    keys = jax.random.split(jax.random.key(0), 3)
    weights = [jax.random.normal(keys[0], (512, 2048)), jax.random.normal(keys[1], (2048, 10))]
    inputs = jax.random.normal(keys[2], (256, 512))
    for _ in range(STEPS):
        weights = step(weights, inputs)
    jax.block_until_ready(weights)


def main():
    train()  # compiles
    if sys.argv[1] == "plain":
        print(time.monotonic_ns())
        return train()
    with jax.profiler.trace(sys.argv[2]):
        train()


main()
