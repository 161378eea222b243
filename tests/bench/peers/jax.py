"""JAX: the whole training as one compiled program: a scan over the epochs, in it one over the
batches."""

import functools
import math
import os
import sys
import time

DEVICE = sys.argv[1]
os.environ["JAX_PLATFORMS"] = DEVICE
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
try:
    import jax
    from jax import lax, numpy as jnp
    jax.devices()
except Exception as error:  # not installed, or no such device
    from peers import protocol
    protocol.absent(error)
import numpy as np

from peers import data, protocol

MATMUL = {"fp32": "highest", "tf32": "tensorfloat32", "bf16": "default"}


def first_parameters(work):
    """{index of the layer: (weight [in, out] or [out, in, k, k], bias)}, the work's own or drawn."""
    given, random = data.first_weights(work), np.random.default_rng(1)
    parameters, shape = {}, list(work["shape"])
    for index, layer in enumerate(work["layers"]):
        kind = layer["type"]
        if kind == "linear":
            sides, inputs = (shape[0], layer["out_features"]), shape[0]
            shape = [layer["out_features"]]
        elif kind == "conv2d":
            size, padding = layer["kernel_size"], layer.get("padding", 0)
            sides, inputs = (layer["out_channels"], shape[0], size, size), shape[0] * size * size
            shape = [layer["out_channels"]] + [side + 2 * padding - size + 1 for side in shape[1:]]
        elif kind == "batch_norm":
            parameters[str(index)] = (jnp.ones(shape[0]), jnp.zeros(shape[0]))
            continue
        else:
            if kind == "max_pool2d":
                shape = [shape[0]] + [side // layer["kernel_size"] for side in shape[1:]]
            elif kind == "flatten":
                shape = [math.prod(shape)]
            continue
        limit, out_features = 1 / math.sqrt(inputs), sides[1] if kind == "linear" else sides[0]
        if given:
            weight = given[f"{index}.weight"]
            weight, bias = (weight.T if kind == "linear" else weight), given[f"{index}.bias"]
        else:
            weight, bias = random.uniform(-limit, limit, sides), random.uniform(-limit, limit, out_features)
        parameters[str(index)] = (jnp.asarray(weight, jnp.float32), jnp.asarray(bias, jnp.float32))
    return parameters


def forward(work, parameters, x, key):
    """key: None when it is not trained. Running averages of batch norms are those of this batch: what
    is measured is the training."""
    kind_of_number = jnp.bfloat16 if work["precision"] == "bf16" else jnp.float32
    x = x.astype(kind_of_number)
    for index, layer in enumerate(work["layers"]):
        kind = layer["type"]
        weight, bias = parameters.get(str(index), (None, None))
        if kind == "linear":
            x = x @ weight.astype(kind_of_number) + bias.astype(kind_of_number)
        elif kind == "conv2d":
            padding = [(layer.get("padding", 0),) * 2] * 2
            x = lax.conv_general_dilated(x, weight.astype(kind_of_number), (1, 1), padding)
            x = x + bias.astype(kind_of_number)[None, :, None, None]
        elif kind == "max_pool2d":
            window = (1, 1, layer["kernel_size"], layer["kernel_size"])
            least = np.asarray(-np.inf, x.dtype)  # not of jnp: a traced value has no gradient here
            x = lax.reduce_window(x, least, lax.max, window, window, "VALID")
        elif kind == "batch_norm":
            wide = x.astype(jnp.float32)
            mean, variance = wide.mean((0, 2, 3)), wide.var((0, 2, 3))
            scale = weight / jnp.sqrt(variance + 1e-5)
            x = (wide * scale[None, :, None, None] +
                 (bias - mean * scale)[None, :, None, None]).astype(kind_of_number)
        elif kind in ("dropout", "dropout2d"):
            if key is not None:
                key, use = jax.random.split(key)
                shape = x.shape if kind == "dropout" else (x.shape[0], x.shape[1], 1, 1)
                x = x * jax.random.bernoulli(use, 1 - layer["p"], shape) / (1 - layer["p"])
        elif kind == "flatten":
            x = x.reshape(x.shape[0], -1)
        else:
            x = {"relu": jax.nn.relu, "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid,
                 "log_softmax": jax.nn.log_softmax}[kind](x)
    return x.astype(jnp.float32)


def loss_of(work, out, y):
    if work["loss"] == "mse":
        return ((out - y) ** 2).mean()
    if work["loss"] == "bce_with_logits":
        return (jnp.logaddexp(0, out) - out * y).mean()
    log_probability = out if work["loss"] == "nll" else jax.nn.log_softmax(out)
    return -jnp.take_along_axis(log_probability, y[:, None], 1).mean()


def program(work, batch):
    """train(parameters, x, y, key, epochs) -> parameters, compiled whole."""
    drops = any(layer["type"].startswith("dropout") for layer in work["layers"])
    momentum, lr = work["momentum"], work["lr"]

    def loss(parameters, x, y, key):
        return loss_of(work, forward(work, parameters, x, key if drops else None), y)

    def step(state, x, y, key):
        parameters, velocity = state
        grad = jax.grad(loss)(parameters, x, y, key)
        if momentum:
            velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, grad)
            grad = velocity
        return jax.tree.map(lambda p, g: p - lr * g, parameters, grad), velocity

    def epoch(state, x, y, key):
        if batch == len(x):
            return step(state, x, y, key)
        count = len(x) // batch
        if work["shuffle"]:
            order = jax.random.permutation(key, len(x))[:count * batch].reshape(count, batch)

            def body(state, rows):
                return step(state, x[rows], y[rows], jax.random.fold_in(key, rows[0])), None
            return lax.scan(body, state, order)[0]
        parts = (x[:count * batch].reshape((count, batch) + x.shape[1:]), y.reshape((count, batch) + y.shape[1:]))
        return lax.scan(lambda state, part: (step(state, *part, key), None), state, parts)[0]

    @functools.partial(jax.jit, static_argnums=4)
    def train(parameters, x, y, key, epochs):
        velocity = jax.tree.map(jnp.zeros_like, parameters) if momentum else None
        keyed = drops or work["shuffle"]

        def body(state, one):
            return epoch(state, x, y, one if keyed else key), None
        keys = jax.random.split(key, epochs) if keyed else None
        return lax.scan(body, (parameters, velocity), keys, length=epochs)[0][0]
    return train


def prepare(work, table):
    batch = data.batch_rows(work, table)
    if len(table.x) % batch:
        raise protocol.Refused("the scan wants whole batches")
    x, y, first = jnp.asarray(table.x), jnp.asarray(table.y), first_parameters(work)
    train, key = program(work, batch), jax.random.key(1)
    apply = jax.jit(lambda parameters, x: forward(work, parameters, x, None))

    def outputs(parameters, rows):
        return np.concatenate([np.asarray(apply(parameters, jnp.asarray(rows[i:i + 2000])))
                               for i in range(0, len(rows), 2000)])

    def run(epochs):
        with jax.default_matmul_precision(MATMUL[work["precision"]]):
            begin = time.perf_counter()
            trained = jax.block_until_ready(train(first, x, y, key, epochs))
            seconds = time.perf_counter() - begin
            return seconds, outputs(trained, table.x), outputs(trained, table.x_test)
    # Each number of epochs is a program of its own: all of them, or where that takes long, a part.
    chosen = work["epochs"]
    if DEVICE == "cpu" and work["operations"] * chosen > 2e12:
        chosen = max(1, int(2e12 / work["operations"]))
    return {"scan": protocol.Variant(run, chosen_epochs=chosen)}


protocol.serve(f"JAX {jax.__version__}", prepare)
