"""networks.py: what a network's layers, written as in a job, come to: shapes, tensors, products. Rows, peers and
draws all read it here."""

import math
from collections import namedtuple

POOLS = ("max_pool2d", "avg_pool2d")

# name: "4", or "4.0" within the block of layer 4, as in files of weights; into, out: shapes without the rows.
Place = namedtuple("Place", "name layer into out")


def out_shape(layer, shape):
    """What leaves the layer, without the rows."""
    kind = layer["type"]
    if kind == "linear":
        return [layer["out_features"]]
    if kind == "embedding":
        return [shape[0] * layer["embedding_dim"]]
    if kind == "flatten":
        return [math.prod(shape)]
    if kind == "adaptive_avg_pool2d":
        return [shape[0]] + [layer["output_size"]] * 2
    if kind == "conv2d" or kind in POOLS:
        size, padding = layer["kernel_size"], layer.get("padding", 0)
        step = layer.get("stride", size if kind in POOLS else 1)
        sides = [(side + 2 * padding - size) // step + 1 for side in shape[1:]]
        return [layer["out_channels"] if kind == "conv2d" else shape[0]] + sides
    return list(shape)


def walk(layers, shape, prefix=""):
    """The Place of each layer, in order; a residual's block stands before it."""
    shape = list(shape)
    for index, layer in enumerate(layers):
        name, out = f"{prefix}{index}", out_shape(layer, shape)
        if layer["type"] == "residual":
            yield from walk(layer["layers"], shape, name + ".")
        yield Place(name, layer, shape, out)
        shape = out


def tensors(place):
    """{torch's name: shape} of what the layer keeps; running statistics too."""
    layer, kind, out = place.layer, place.layer["type"], {}
    if kind == "linear":
        out["weight"] = (layer["out_features"], place.into[0])
    elif kind == "conv2d":
        size = layer["kernel_size"]
        out["weight"] = (layer["out_channels"], place.into[0] // layer.get("groups", 1), size, size)
    elif kind == "embedding":
        out["weight"] = (layer["num_embeddings"], layer["embedding_dim"])
    elif kind == "batch_norm":
        out = {part: (place.into[0],) for part in ("weight", "bias", "running_mean", "running_var")}
    elif kind == "layer_norm":
        out = {part: tuple(place.into) for part in ("weight", "bias")}
    if kind in ("linear", "conv2d") and layer.get("bias", True):
        out["bias"] = out["weight"][:1]
    return {f"{place.name}.{part}": sides for part, sides in out.items()}


def parameters(place):
    return sum(math.prod(sides) for name, sides in tensors(place).items() if "running" not in name)


def products(place):
    """Of a row, going forward."""
    kind = place.layer["type"]
    if kind not in ("linear", "conv2d"):
        return 0
    weights = next(iter(tensors(place).values()))
    return math.prod(weights) * (math.prod(place.out[1:]) if kind == "conv2d" else 1)


def first_weights(layers, shape, random):
    """{name: array}, by NumPy's generator `random`: uniform within 1 / sqrt(what an output is a sum of), as PyTorch
    draws; embeddings normal, norms as they start."""
    out = {}
    for place in walk(layers, shape):
        kind, named = place.layer["type"], tensors(place)
        for name, sides in named.items():
            if kind == "embedding":
                drawn = random.normal(size=sides)
            elif kind in ("linear", "conv2d"):
                limit = 1 / math.sqrt(math.prod(named[f"{place.name}.weight"][1:]))
                drawn = random.uniform(-limit, limit, sides)
            else:
                start = name.endswith(("weight", "running_var"))
                drawn = random.uniform(start, start, sides)
            out[name] = drawn.astype("float32")
    return out
