"""draws.py: networks drawn by chance, and the trainings that they are drawn with. Number I of seed S is the same on
every machine: random.Random("S/I") is all that it depends on. Nothing here was chosen by what any program is fast
at. "Log" is log-uniform, both ends included; all else is uniform.

Of all, 60 % are dense, 30 % convolutional, 10 % begin with an embedding.

dense      inputs: log 2 to 1,024; 1 to 6 hidden layers: the widest log 4 to 4,096, all as wide, tapering to log 4 to
           the widest, or an hourglass whose waist is that. One activation: relu, tanh, gelu, silu or sigmoid. One in
           four has batch_norm or layer_norm behind each hidden linear, one in four dropout of 0.1, 0.2 or 0.5 behind
           each activation. Half of the widths are the nearest power of two.
images     1 or 3 channels of 16, 20, 24, 28, 32, 48 or 64 pixels; 1 to 6 convolutions: the first has log 8 to 128
           channels, each further one with even chance as many or twice as many, at most 512. Kernels 1, 3, 5
           (20, 60, 20 %), padded by half; one in five has stride 2 where 8 pixels are left; one in eight has 2, 4 or
           as many groups as channels where these divide. One activation: relu, tanh, gelu or silu. Half have
           batch_norm, one in eight layer_norm. In one of four, with even chance, a convolution but the first stands
           in a residual block and keeps channels and pixels. One in three convolutions with stride 1 and 4 pixels is
           followed by a pool of 2, or of 3 with stride 2: two of three the maximum, the others the mean. One in four
           networks has dropout2d or dropout before its end, which is with even chance a mean of all pixels; one in
           three has a hidden linear layer of log 32 to 512.
embedding  log 1 to 32 columns, each of log 10 to 100,000 words in 4 to 128 (log) numbers; then 1 to 4 dense layers of
           log 8 to 1,024, as above.

A linear or convolution before batch_norm has no bias, which would be trained by rounding alone.

loss       mse (log 1 to 16 columns), bce_with_logits (log 1 to 8) or cross_entropy (log 2 to 100 classes)
optimizer  sgd, sgd with momentum 0.9, adam or adamw; lr 0.1 / the widest layer, a tenth of it with momentum, but 1e-4
           to 1e-2; adam and adamw: 1e-3, 1e-4 where a layer is wider than 256
rows       log 100 to 200,000; then at most what keeps the rows at 2^25 values, an epoch at 4,096 steps and at
           2e13 operations
batch      one in eight "full"; else a power of two from 8 to 16,384 and at most the rows. Three of four have whole
           batches alone, the others a smaller last one
data       bytes with "normalize": half of the images, one in eight dense; else floats. Four of five are shuffled
precision  fp32, tf32 or bf16, a third each

A network is drawn again, within its kind, where a step needs more than 2e11 operations, its values more than 2 GB
(activations three times, parameters four times), a side is used up, or layer_norm has one pixel to norm.
"""

import math
import random

import networks

KINDS, SHARES = ("dense", "images", "embedding"), (6, 3, 1)
STEP_OPERATIONS_MAX, EPOCH_OPERATIONS_MAX, EPOCH_STEPS_MAX = 2e11, 2e13, 4096
BYTES_MAX, DATA_VALUES_MAX = 2e9, 1 << 25


def log_integer(chance, least, most):
    return round(math.exp(chance.uniform(math.log(least), math.log(most))))


def one_in(chance, count):
    return chance.randrange(count) == 0


def rounded(chance, width):
    """Half of them to the nearest power of two."""
    return 2**round(math.log2(width)) if one_in(chance, 2) else width


def widths(chance, count, least, most):
    widest = log_integer(chance, least, most)
    waist, style = log_integer(chance, least, widest), chance.choice(("equal", "taper", "hourglass"))
    far = {"equal": lambda i: 0, "taper": lambda i: i / max(1, count - 1),
           "hourglass": lambda i: 1 - abs(2 * i / max(1, count - 1) - 1)}[style]
    return [max(1, rounded(chance, round(widest * (waist / widest)**far(i)))) for i in range(count)]


def dense_layers(chance, hidden, activation):
    norm = chance.choice(("batch_norm", "layer_norm")) if one_in(chance, 4) else None
    drop = chance.choice((0.1, 0.2, 0.5)) if one_in(chance, 4) else None
    layers = []
    for width in hidden:
        linear = {"type": "linear", "out_features": width}
        if norm == "batch_norm":
            linear["bias"] = False
        layers += [linear] + ([{"type": norm}] if norm else []) + [{"type": activation}]
        layers += [{"type": "dropout", "p": drop}] if drop else []
    return layers


def dense(chance):
    activation = chance.choice(("relu", "tanh", "gelu", "silu", "sigmoid"))
    inputs = log_integer(chance, 2, 1024)
    return [inputs], dense_layers(chance, widths(chance, chance.randint(1, 6), 4, 4096), activation)


def embedding(chance):
    activation = chance.choice(("relu", "tanh", "gelu", "silu", "sigmoid"))
    columns, words = log_integer(chance, 1, 32), log_integer(chance, 10, 100000)
    first = {"type": "embedding", "num_embeddings": words, "embedding_dim": log_integer(chance, 4, 128)}
    return [columns], [first] + dense_layers(chance, widths(chance, chance.randint(1, 4), 8, 1024), activation)


def convolution(chance, into, out, side, norm, keeps):
    kernel = chance.choices((1, 3, 5), (2, 6, 2))[0]
    layer = {"type": "conv2d", "out_channels": out, "kernel_size": kernel, "padding": kernel // 2}
    if not keeps and side >= 8 and one_in(chance, 5):
        layer["stride"] = 2
    if one_in(chance, 8):
        groups = chance.choice((2, 4, into))
        if groups > 1 and into % groups == 0 and out % groups == 0:
            layer["groups"] = groups
    if norm == "batch_norm":
        layer["bias"] = False
    return layer


def pool(chance):
    size = chance.choice((2, 3))
    more = {"stride": 2, "padding": 1} if size == 3 else {}
    return dict({"type": chance.choice(("max_pool2d", "max_pool2d", "avg_pool2d")), "kernel_size": size}, **more)


def images(chance):
    shape = [chance.choice((1, 3))] + [chance.choice((16, 20, 24, 28, 32, 48, 64))] * 2
    activation = chance.choice(("relu", "tanh", "gelu", "silu"))
    norm = chance.choices(("batch_norm", "layer_norm", None), (4, 1, 3))[0]
    residual, drops = one_in(chance, 4), one_in(chance, 4)
    layers, now, out = [], shape, rounded(chance, log_integer(chance, 8, 128))
    for index in range(chance.randint(1, 6)):
        keeps = residual and index > 0 and one_in(chance, 2)
        if index:
            out = now[0] if keeps else min(512, out * chance.choice((1, 2)))
        layer = convolution(chance, now[0], out, now[1], norm, keeps)
        block = [layer] + ([{"type": norm}] if norm else []) + [{"type": activation}]
        pools = not keeps and "stride" not in layer and one_in(chance, 3)
        block = [{"type": "residual", "layers": block}] if keeps else block
        now = networks.out_shape(layer, now)
        if pools and now[1] >= 4:
            block.append(pool(chance))
            now = networks.out_shape(block[-1], now)
        layers += block
    where = chance.choice(("dropout2d", "dropout")) if drops else None
    layers += [{"type": where, "p": 0.25}] if where == "dropout2d" else []
    layers += [{"type": "adaptive_avg_pool2d", "output_size": 1}] if one_in(chance, 2) else []
    layers.append({"type": "flatten"})
    if one_in(chance, 3):
        layers += [{"type": "linear", "out_features": log_integer(chance, 32, 512)}, {"type": activation}]
    return shape, layers + ([{"type": "dropout", "p": 0.5}] if where == "dropout" else [])


def optimizer(chance, widest):
    kind = chance.choice(("sgd", "momentum", "adam", "adamw"))
    if kind in ("adam", "adamw"):
        return {"type": kind, "lr": 1e-4 if widest > 256 else 1e-3}
    lr = 0.1 / widest / (10 if kind == "momentum" else 1)
    return {"type": "sgd", "lr": float(f"{min(1e-2, max(1e-4, lr)):.2g}"), "momentum": 0.9 if kind == "momentum" else 0}


class Draw:
    """kind, shape, layers, loss, outputs, optimizer, rows, batch_size, bytes, shuffle, precision."""

    def __init__(self, chance, kind):
        self.kind = kind
        self.shape, self.layers = {"dense": dense, "images": images, "embedding": embedding}[kind](chance)
        self.loss = chance.choice(("mse", "bce_with_logits", "cross_entropy"))
        self.outputs = log_integer(chance, *{"mse": (1, 16), "bce_with_logits": (1, 8),
                                             "cross_entropy": (2, 100)}[self.loss])
        self.layers.append({"type": "linear", "out_features": self.outputs})
        self.places = list(networks.walk(self.layers, self.shape))
        widest = max(place.into[0] * math.prod(place.into[1:]) if place.layer["type"] == "linear" else place.out[0]
                     for place in self.places)
        self.optimizer = optimizer(chance, widest)
        self.bytes = one_in(chance, {"dense": 8, "images": 2}.get(kind, 1)) and kind != "embedding"
        self.shuffle, self.precision = not one_in(chance, 5), chance.choice(("fp32", "tf32", "bf16"))
        self.rows = min(log_integer(chance, 100, 200000), DATA_VALUES_MAX // math.prod(self.shape))
        self._batch(chance)

    def _batch(self, chance):
        """The batch, and what an epoch may have of rows; one row is no batch for a batch_norm."""
        full, whole = one_in(chance, 8), not one_in(chance, 4)
        self.batch_size = "full" if full else 2**chance.randint(3, min(14, int(math.log2(self.rows))))
        if not full:
            steps = min(EPOCH_STEPS_MAX, int(EPOCH_OPERATIONS_MAX // max(1, self.step_operations())))
            self.rows = min(self.rows, max(1, steps) * self.batch_size)
            left = self.rows % self.batch_size
            self.rows -= left if whole or left == 1 else 0

    def batch_rows(self):
        return self.rows if self.batch_size == "full" else self.batch_size

    def step_operations(self):
        """As they are commonly counted: six a product."""
        return 6 * sum(networks.products(place) for place in self.places) * self.batch_rows()

    def bytes_needed(self):
        values = sum(math.prod(place.out) for place in self.places) * self.batch_rows()
        return 12 * values + 16 * sum(networks.parameters(place) for place in self.places)

    def fits(self):
        return (self.step_operations() <= STEP_OPERATIONS_MAX and self.bytes_needed() <= BYTES_MAX and
                min(min(place.out) for place in self.places) > 0 and
                not any(place.layer["type"] == "layer_norm" and place.into[1:] == [1, 1]
                        for place in self.places))

    def title(self, rows=None, precision=None):
        """One line: what it is and how it is trained; rows, precision: where a machine takes others."""
        given, rows, precision = self.optimizer, rows or self.rows, precision or self.precision
        how = "momentum" if given.get("momentum") else given["type"]
        return (f"{network_text(self.layers, self.shape)}; {self.loss}, {how}, {rows:,} rows"
                f"{' of bytes' if self.bytes else ''}, batch {self.batch_size}"
                f"{', shuffled' if self.shuffle else ''}, {precision}")


SHORT = {"batch_norm": "bn", "layer_norm": "ln", "adaptive_avg_pool2d": "mean", "dropout2d": "drop2d",
         "dropout": "drop"}


def layer_text(layer):
    kind = layer["type"]
    if kind == "linear":
        return str(layer["out_features"])
    if kind == "embedding":
        return f"embed {layer['num_embeddings']}x{layer['embedding_dim']}"
    if kind == "residual":
        return "(" + " ".join(layer_text(inner) for inner in layer["layers"]) + ")+"
    if kind == "conv2d":
        return f"c{layer['out_channels']}k{layer['kernel_size']}" + "".join(
            f"{field[0]}{layer[field]}" for field in ("stride", "groups") if field in layer)
    if kind in networks.POOLS:
        return f"{kind[:3]}{layer['kernel_size']}"
    return SHORT.get(kind, kind)


def network_text(layers, shape):
    shown = [layer_text(layer) for layer in layers if layer["type"] != "flatten"]
    return " ".join(["x".join(map(str, shape))] + shown)


def draw(seed, index):
    """Number `index` of the seed."""
    chance = random.Random(f"{seed}/{index}")
    kind = chance.choices(KINDS, SHARES)[0]
    while True:
        drawn = Draw(chance, kind)
        if drawn.fits():
            return drawn
