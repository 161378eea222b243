"""JAX: the whole training as one compiled program: a scan over the epochs, in it one over the
batches."""

import functools
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

import networks
from peers import data, protocol

MATMUL = {"fp32": "highest", "tf32": "tensorfloat32", "bf16": "default"}


def first_parameters(work):
    """{name of the layer: (weight [in, out] or [out, in, k, k], bias or None)}, the work's own or drawn."""
    given, parameters = data.first_weights(work), {}
    given = given or networks.first_weights(work["layers"], work["shape"], np.random.default_rng(1))
    for place in networks.walk(work["layers"], work["shape"]):
        weight, bias = (given.get(f"{place.name}.{part}") for part in ("weight", "bias"))
        if weight is not None:
            weight = weight.T if place.layer["type"] == "linear" else weight
            parameters[place.name] = tuple(part if part is None else jnp.asarray(part, jnp.float32)
                                           for part in (weight, bias))
    return parameters


def normed(x, kind, weight, bias):
    """In float32, whatever x is. Running averages of batch norms are those of this batch: what is measured is
    the training."""
    wide = x.astype(jnp.float32)
    if kind == "layer_norm":
        axes = tuple(range(1, x.ndim))
    else:
        axes = (0,) + tuple(range(2, x.ndim))
        weight, bias = (part.reshape((-1,) + (1,) * (x.ndim - 2)) for part in (weight, bias))
    mean, variance = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    scale = weight / jnp.sqrt(variance + 1e-5)
    return (wide * scale + (bias - mean * scale)).astype(x.dtype)


def pooled(x, layer):
    """max_pool2d and avg_pool2d; padding counts as -infinity there and as zeros here."""
    size, padding = layer["kernel_size"], layer.get("padding", 0)
    step = layer.get("stride", size)
    window, strides, pads = (1, 1, size, size), (1, 1, step, step), [(0, 0), (0, 0)] + [(padding, padding)] * 2
    if layer["type"] == "max_pool2d":
        least = np.asarray(-np.inf, x.dtype)  # not of jnp: a traced value has no gradient here
        return lax.reduce_window(x, least, lax.max, window, strides, pads)
    return lax.reduce_window(x, np.asarray(0, x.dtype), lax.add, window, strides, pads) / (size * size)


ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid, "silu": jax.nn.silu,
               "gelu": functools.partial(jax.nn.gelu, approximate=False), "log_softmax": jax.nn.log_softmax}


def through(layers, parameters, x, key, number, prefix=""):
    """The layers on x; number: the kind of number that they compute in; key: None when it is not trained."""
    for index, layer in enumerate(layers):
        kind, name = layer["type"], f"{prefix}{index}"
        weight, bias = parameters.get(name, (None, None))
        if kind == "embedding":
            x = weight[x.astype(jnp.int32)].astype(number).reshape(x.shape[0], -1)
        elif kind == "linear":
            x = x @ weight.astype(number)
            x = x if bias is None else x + bias.astype(number)
        elif kind == "conv2d":
            x = lax.conv_general_dilated(x, weight.astype(number), (layer.get("stride", 1),) * 2,
                                         [(layer.get("padding", 0),) * 2] * 2,
                                         feature_group_count=layer.get("groups", 1))
            x = x if bias is None else x + bias.astype(number)[None, :, None, None]
        elif kind in networks.POOLS:
            x = pooled(x, layer)
        elif kind == "adaptive_avg_pool2d":
            if layer["output_size"] != 1:
                raise protocol.Refused("adaptive pools to one pixel alone")
            x = x.mean((2, 3), keepdims=True)
        elif kind in ("batch_norm", "layer_norm"):
            x = normed(x, kind, weight, bias)
        elif kind in ("dropout", "dropout2d"):
            if key is not None:
                key, use = jax.random.split(key)
                shape = x.shape if kind == "dropout" else (x.shape[0], x.shape[1], 1, 1)
                x = x * jax.random.bernoulli(use, 1 - layer["p"], shape) / (1 - layer["p"])
        elif kind == "residual":
            use = key if key is None else jax.random.fold_in(key, index)
            x = x + through(layer["layers"], parameters, x, use, number, name + ".")
        elif kind == "flatten":
            x = x.reshape(x.shape[0], -1)
        else:
            x = ACTIVATIONS[kind](x)
    return x


def forward(work, parameters, x, key):
    number = jnp.bfloat16 if work["precision"] == "bf16" else jnp.float32
    if work["layers"][0]["type"] != "embedding":  # whose numbers bf16 does not hold
        x = x.astype(number)
    return through(work["layers"], parameters, x, key, number).astype(jnp.float32)


def loss_of(work, out, y):
    if work["loss"] == "mse":
        return ((out - y) ** 2).mean()
    if work["loss"] == "bce_with_logits":
        return (jnp.logaddexp(0, out) - out * y).mean()
    log_probability = out if work["loss"] == "nll" else jax.nn.log_softmax(out)
    return -jnp.take_along_axis(log_probability, y[:, None], 1).mean()


def optimizer_of(work):
    """(first state of the parameters, (parameters, state, grad) -> the new ones)."""
    given = work.get("optimizer") or {"type": "sgd", "lr": work["lr"], "momentum": work["momentum"]}
    lr, momentum = given["lr"], given.get("momentum", 0)
    decay = given.get("weight_decay", 0.01 if given["type"] == "adamw" else 0)
    one, two = given.get("betas", (0.9, 0.999))

    def zeros(parameters):
        return jax.tree.map(jnp.zeros_like, parameters)

    def sgd(parameters, velocity, grad):
        if momentum:
            velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, grad)
            grad = velocity
        return jax.tree.map(lambda p, g: p - lr * g, parameters, grad), velocity

    def adam(parameters, state, grad):
        mean, square, count = state
        count = count + 1
        mean = jax.tree.map(lambda m, g: one * m + (1 - one) * g, mean, grad)
        square = jax.tree.map(lambda v, g: two * v + (1 - two) * g * g, square, grad)
        mean_scale, square_scale = 1 / (1 - one**count), 1 / (1 - two**count)

        def update(p, m, v):
            return p * (1 - lr * decay) - lr * m * mean_scale / (jnp.sqrt(v * square_scale) + 1e-8)
        return jax.tree.map(update, parameters, mean, square), (mean, square, count)

    if given["type"] == "sgd":
        return (lambda parameters: zeros(parameters) if momentum else None), sgd
    if given["type"] == "adam" and decay:
        raise protocol.Refused("written for adam without decay")
    return (lambda parameters: (zeros(parameters), zeros(parameters), jnp.float32(0))), adam


def program(work, batch):
    """(first state of the parameters; train(state, x, y, key, epochs) -> state, compiled whole)."""
    drops = any(place.layer["type"].startswith("dropout") for place in networks.walk(work["layers"], work["shape"]))
    first_state, update = optimizer_of(work)

    def loss(parameters, x, y, key):
        return loss_of(work, forward(work, parameters, x, key if drops else None), y)

    def step(state, x, y, key):
        parameters, moments = state
        return update(parameters, moments, jax.grad(loss)(parameters, x, y, key))

    def epoch(state, x, y, key):
        if batch == len(x):
            return step(state, x, y, key)
        count = len(x) // batch
        whole = count * batch  # the rows behind it are a smaller batch
        if work["shuffle"]:
            order = jax.random.permutation(key, len(x))

            def body(state, rows):
                return step(state, x[rows], y[rows], jax.random.fold_in(key, rows[0])), None
            state = lax.scan(body, state, order[:whole].reshape(count, batch))[0]
            return state if whole == len(x) else body(state, order[whole:])[0]
        parts = (x[:whole].reshape((count, batch) + x.shape[1:]), y[:whole].reshape((count, batch) + y.shape[1:]))
        state = lax.scan(lambda state, part: (step(state, *part, key), None), state, parts)[0]
        return state if whole == len(x) else step(state, x[whole:], y[whole:], key)

    @functools.partial(jax.jit, static_argnums=4)
    def train(state, x, y, key, epochs):
        keyed = drops or work["shuffle"]

        def body(state, one):
            return epoch(state, x, y, one if keyed else key), None
        keys = jax.random.split(key, epochs) if keyed else None
        return lax.scan(body, state, keys, length=epochs)[0]
    return (lambda parameters: (parameters, first_state(parameters))), train


def prepare(work, table):
    batch = data.batch_rows(work, table)
    x, y, first = jnp.asarray(table.x), jnp.asarray(table.y), first_parameters(work)
    (first_state, train), key = program(work, batch), jax.random.key(1)
    apply = jax.jit(lambda parameters, x: forward(work, parameters, x, None))
    # Each number of epochs is a program of its own: all of them, or where that takes long, a part.
    chosen = work["epochs"]
    if DEVICE == "cpu" and work["operations"] * chosen > 2e12:
        chosen = max(1, int(2e12 / work["operations"]))

    part = data.evaluated_rows(work)

    def outputs(parameters, rows):
        return np.concatenate([np.asarray(apply(parameters, jnp.asarray(rows[i:i + part])))
                               for i in range(0, len(rows), part)])

    def run(epochs):
        with jax.default_matmul_precision(MATMUL[work["precision"]]):
            keys = [key] + [jax.random.fold_in(key, part) for part in range(1, epochs // chosen)]
            state = jax.block_until_ready(first_state(first))
            begin = time.perf_counter()
            for drawn in keys[:epochs // chosen]:
                state = train(state, x, y, drawn, chosen)
            jax.block_until_ready(state)
            seconds = time.perf_counter() - begin
            return seconds, outputs(state[0], table.x), outputs(state[0], table.x_test)
    return {"scan": protocol.Variant(run, unit=chosen)}


protocol.serve(f"JAX {jax.__version__}", prepare)
