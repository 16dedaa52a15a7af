"""JAX: a shape that changes at each step is compiled again."""
import os

import jax
import jax.numpy as jnp

import crosscut

PLANTED = os.environ["PLANTED"] == "1"


@jax.jit
def update(x):
    return jnp.tanh(x @ x.T).sum()


for step in range(40):
    crosscut.step()
    size = 300 + step if PLANTED else 300
    update(jnp.ones((size, 500))).block_until_ready()  # HERE
