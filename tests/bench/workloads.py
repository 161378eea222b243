"""workloads.py: what is measured: the rows of the table, each with its data, its network, its peers,
what a right answer is, and what ratio is wanted. The layers are written as in a job; peers build theirs
from the same list."""

import gzip
import json
import math
import os

import numpy as np

import networks

TEST_DATA = os.environ.get("EPOCHD_TEST_DATA", "")


class Missing(Exception):
    """The row's data are not on this machine."""


# --- data: each gives x_train, y_train, x_test, y_test ----------------------------------------------

def _file(name):
    path = os.path.join(TEST_DATA, name)
    if not TEST_DATA or not os.path.exists(path):
        raise Missing(f"there is no {name} in EPOCHD_TEST_DATA")
    return path


def iron(name):
    def make():
        with open(_file(f"iron/{name}.json")) as file:
            flat = json.load(file)
        return {"x_train": np.array(flat["x"]).reshape(flat["m"], flat["n"]), "y_train": np.array(flat["y"]),
                "x_test": np.array(flat["x_test"]).reshape(flat["m_test"], flat["n"]),
                "y_test": np.array(flat["y_test"])}
    make.__name__ = name
    return make


def digits():
    def images(name):
        with gzip.open(_file(f"mnist/{name}-images-idx3-ubyte.gz")) as file:
            return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)

    def labels(name):
        with gzip.open(_file(f"mnist/{name}-labels-idx1-ubyte.gz")) as file:
            return np.frombuffer(file.read(), np.uint8, offset=8).astype(np.int64)
    return {"x_train": images("train"), "y_train": labels("train"), "x_test": images("t10k"),
            "y_test": labels("t10k")}


def flat_digits():
    """57,344 rows of 784: fourteen batches of 4,096."""
    whole = digits()
    return {"x_train": whole["x_train"].reshape(-1, 784)[:57344], "y_train": whole["y_train"][:57344],
            "x_test": whole["x_test"].reshape(-1, 784), "y_test": whole["y_test"]}


def disc():
    random = np.random.default_rng(1)
    x = random.uniform(size=(2, 1000, 2)).astype(np.float32)
    y = ((x**2).sum(2) < 1 / (2 * math.pi)).astype(np.int64)
    return {"x_train": x[0], "y_train": y[0], "x_test": x[1], "y_test": y[1]}


def small_pictures():
    """Ten classes, each a picture of its own under noise: 3x32x32 bytes, 20 batches of 512."""
    random = np.random.default_rng(1)
    pattern = random.integers(64, 192, (10, 3, 32, 32))
    out = {}
    for split, rows in (("train", 10240), ("test", 1024)):
        y = random.integers(0, 10, rows)
        noise = random.integers(-64, 64, (rows, 3, 32, 32))
        out["x_" + split], out["y_" + split] = (pattern[y] + noise).astype(np.uint8), y.astype(np.int64)
    return out


def many_points():
    """Eight batches of 2^14 points of a smooth function from 32 to 16 numbers."""
    random = np.random.default_rng(1)
    mix = random.normal(size=(32, 16)) / 6
    out = {}
    for split, rows in (("train", 1 << 17), ("test", 1024)):
        x = random.normal(size=(rows, 32))
        out["x_" + split], out["y_" + split] = x.astype(np.float32), np.tanh(x @ mix).astype(np.float32)
    return out


# --- networks ---------------------------------------------------------------------------------------

def dense(*widths):
    layers = []
    for width in widths:
        layers += [{"type": "linear", "out_features": width}, {"type": "relu"}]
    return layers[:-1]


def doubling(layers):
    return dense(*(2**i for i in range(2, layers + 1)), 2)


NOTEBOOK = [{"type": "conv2d", "out_channels": 10, "kernel_size": 5}, {"type": "max_pool2d", "kernel_size": 2},
            {"type": "relu"}, {"type": "conv2d", "out_channels": 20, "kernel_size": 5},
            {"type": "dropout2d", "p": 0.5}, {"type": "max_pool2d", "kernel_size": 2}, {"type": "relu"},
            {"type": "flatten"}, {"type": "linear", "out_features": 50}, {"type": "relu"},
            {"type": "dropout", "p": 0.5}, {"type": "linear", "out_features": 10}, {"type": "log_softmax"}]


def pictures_network():
    layers = []
    for channels in (64, 128, 256, 512):
        layers += [{"type": "conv2d", "out_channels": channels, "kernel_size": 3, "padding": 1},
                   {"type": "batch_norm"}, {"type": "relu"}, {"type": "max_pool2d", "kernel_size": 2}]
    return layers + [{"type": "flatten"}, {"type": "linear", "out_features": 10}]


def shapes(layers, shape):
    """(layer, products a row, parameters, is it the first with any) of each layer."""
    first = True
    for place in networks.walk(layers, shape):
        products = networks.products(place)
        yield place.layer, products, networks.parameters(place), first and products > 0
        first = first and products == 0 and place.layer["type"] != "embedding"  # whose weights need a gradient


class Row:
    """One row of the table. runs: on which machines ("cuda", "cpu"); ours: what is laid over the job,
    the first that the daemon takes counts; draws_first: the seed of first weights that all start from, 0:
    each draws its own; peers: (module, device, one core, variants); wanted: (what,
    of whom, how much); right: answer -> what is wrong with it, or None; same: how far the training loss
    may be from the peers', relatively, from the same first weights."""

    def __init__(self, name, title, make, shape, layers, loss, **more):
        self.name, self.title, self.make, self.shape, self.layers, self.loss = \
            name, title, make, list(shape), layers, loss
        self.lr, self.momentum, self.epochs, self.batch_size = 0.01, 0.0, 100, "full"
        self.shuffle, self.precision, self.standardize, self.normalize = False, "fp32", [], None
        self.runs, self.device, self.one_core, self.ours = ("cuda",), "cuda", False, [{}]
        self.peers, self.wanted, self.right, self.same = [], [], lambda answer: None, None
        self.draws_first, self.channels_last, self.rows_count = 0, False, 0
        # optimizer: another than sgd, as in a job; fixed_shapes: compilers see each batch size for itself
        self.optimizer, self.fixed_shapes = None, False
        for field, value in more.items():
            if not hasattr(self, field):
                raise TypeError(f"a row has no {field}")
            setattr(self, field, value)

    def batch_rows(self):
        return self.rows_count if self.batch_size == "full" else self.batch_size

    def steps(self):
        return -(-self.rows_count // self.batch_rows())

    def parameters(self):
        return sum(layer[2] for layer in shapes(self.layers, self.shape))

    def operations(self):
        """(of a step, as they are commonly counted: six a product; and those that must be done: the
        first layer needs no gradient of its input)."""
        products = sum(layer[1] for layer in shapes(self.layers, self.shape))
        first = sum(layer[1] for layer in shapes(self.layers, self.shape) if layer[3])
        return 6 * products * self.batch_rows(), (6 * products - 2 * first) * self.batch_rows()

    def bytes(self):
        """What a step must move at least if its activations stay on the chip: the batch as it is
        stored, and each parameter (and its momentum) read and written once."""
        stored = 1 if self.normalize else 4
        state = 2 if self.momentum else 1
        return stored * math.prod(self.shape) * self.batch_rows() + 8 * state * self.parameters()

    def working_set_bytes(self):
        """All rows, and the parameters with their momentum; gradients need not be written down."""
        stored = 1 if self.normalize else 4
        return stored * math.prod(self.shape) * self.rows_count + 4 * (2 if self.momentum else 1) * self.parameters()

    def job(self, dataset, first):
        data = {"dataset": dataset, "standardize": self.standardize}
        if self.normalize:
            data["normalize"] = self.normalize
        model = {"layers": self.layers}
        if first:
            model["init"] = {"weights": first}
        return {"data": {key: value for key, value in data.items() if value}, "model": model,
                "loss": self.loss,
                "optimizer": self.optimizer or {"type": "sgd", "lr": self.lr, "momentum": self.momentum},
                "epochs": self.epochs, "batch_size": self.batch_size, "shuffle": self.shuffle,
                "device": self.device, "precision": self.precision}

    def work(self, file, first, variants):
        """The same for a peer; protocol.py says what it is."""
        return {"name": self.name, "file": file, "first": first, "shape": self.shape, "layers": self.layers,
                "loss": self.loss, "lr": self.lr, "momentum": self.momentum, "optimizer": self.optimizer,
                "epochs": self.epochs, "batch_size": self.batch_size, "shuffle": self.shuffle,
                "precision": self.precision, "standardize": self.standardize, "normalize": self.normalize,
                "variants": variants, "channels_last": self.channels_last, "fixed_shapes": self.fixed_shapes,
                "operations": self.operations()[1] * self.steps()}


def first_weights(row):
    return networks.first_weights(row.layers, row.shape, np.random.default_rng(row.draws_first))


# --- right answers ----------------------------------------------------------------------------------

def between(name, least, most):
    def right(answer):
        value = answer.get(name)
        if value is None or not least <= value <= most:
            return f"{name} is {value}, it should be {least} to {most}"
        return None
    return right


def converged(answer):
    return between("test_accuracy", 0.926, 0.94)(answer) or between("test_roc_auc", 0.86, 0.92)(answer)


# --- the rows ---------------------------------------------------------------------------------------

GPU_PEERS = [("torch", "cuda", False, ["eager", "graph"]), ("jax", "cuda", False, ["scan"])]
GPU_COMPILED = [("torch", "cuda", False, ["eager", "graph"]), ("torch", "cuda", False, ["compile"]),
                ("jax", "cuda", False, ["scan"])]
HOST_PEERS = [("jax", "cpu", False, ["scan"]), ("numpy", "cpu", True, ["arrays"])]
CORE_PEERS = [("numpy", "cpu", True, ["arrays"]), ("torch", "cpu", True, ["eager"]),
              ("jax", "cpu", True, ["scan"]), ("sklearn", "cpu", True, ["sgd"]), ("fann", "cpu", True, ["batch"])]

LINEAR = dict(make=iron("linear"), shape=(6,), layers=dense(6, 1), loss="mse", lr=0.005, epochs=40000,
              standardize=["x", "y"], right=between("test_mse", 44, 52), same=0.01, draws_first=2)
LOGISTIC = dict(make=iron("logistic"), shape=(19,), layers=dense(1), loss="bce_with_logits", epochs=20000,
                standardize=["x"], right=converged, same=0.001, draws_first=2)
DIGITS = dict(make=digits, shape=(1, 28, 28), layers=NOTEBOOK, loss="nll", momentum=0.5, epochs=25,
              batch_size=200, shuffle=True, normalize={"mean": 0.1307, "std": 0.3081})
# GPUs' peers run at TF32, as in the figures to beat; where the daemon has fp32 alone, that is shown.
MIXED = [{}, {"precision": "fp32"}]


def disc_row(layers, most, seed, **more):
    """seed: of first weights with which PyTorch learns it; with others deep ones stay at 12.4 %, the error
    of saying no to all."""
    options = dict(name=f"disc-{layers}", title=f"disc, {layers} layers, batch 100", make=disc, shape=(2,),
                   layers=doubling(layers), loss="cross_entropy", lr=0.1, epochs=100, batch_size=100,
                   standardize=["x"], right=between("train_error", 0, most), draws_first=seed)
    return Row(**dict(options, **more))


def wide_row(precision, flops):
    return Row(f"wide-{precision}", f"784-4096-4096-10, batch 4096, {precision}", flat_digits, (784,),
               dense(4096, 4096, 10), "cross_entropy", lr=0.05, epochs=10, batch_size=4096,
               precision=precision, ours=MIXED, normalize={"mean": 0.1307, "std": 0.3081},
               peers=GPU_COMPILED, right=between("test_accuracy", 0.85, 1), wanted=[("flops", None, flops)])


ROWS = [
    Row(name="linear-auto", title="linear 6-6-1, auto", runs=("cuda", "cpu"), device="auto",
        peers=[GPU_PEERS[0], GPU_PEERS[1], ("cupy", "cuda", False, ["arrays"])] + HOST_PEERS,
        wanted=[("times", "jax cuda", 8), ("times", "jax cpu", 1.5)], **LINEAR),
    Row(name="linear-cuda", title="linear 6-6-1, cuda", peers=GPU_PEERS[1:],
        wanted=[("times", "jax cuda", 5)], **LINEAR),
    Row(name="logistic-auto", title="logistic 19-1, auto", runs=("cuda", "cpu"), device="auto",
        peers=[("torch", "cuda", False, ["graph"]), GPU_PEERS[1]] + HOST_PEERS,
        wanted=[("times", "jax cuda", 4)], **LOGISTIC),
    Row(name="logistic-cuda", title="logistic 19-1, cuda", peers=GPU_PEERS[1:],
        wanted=[("times", "jax cuda", 4)], **LOGISTIC),
    disc_row(2, 0.05, 2, precision="tf32", ours=MIXED, peers=GPU_PEERS, wanted=[("times", "jax cuda", 6)]),
    disc_row(8, 0.05, 2, precision="tf32", ours=MIXED, peers=GPU_PEERS, wanted=[("times", "jax cuda", 5)]),
    disc_row(10, 0.08, 5, precision="tf32", ours=MIXED, peers=GPU_PEERS, wanted=[("times", "jax cuda", 2.5)]),
    disc_row(12, 0.13, 2, precision="tf32", ours=MIXED, peers=GPU_PEERS, wanted=[("times", "jax cuda", 2)]),
    Row(name="mnist", title="MNIST CNN, 25 epochs, batch 200", precision="tf32", ours=MIXED, peers=GPU_COMPILED,
        right=between("test_accuracy", 0.978, 0.99),
        wanted=[("times", "torch cuda compile+graph", 6), ("wall", None, 0.4)], **DIGITS),
    wide_row("tf32", 340e12),
    wide_row("bf16", 600e12),
    Row("pictures", "3-64-128-256-512 CNN, 32x32, batch 512, bf16", small_pictures, (3, 32, 32),
        pictures_network(), "cross_entropy", epochs=5, batch_size=512, shuffle=True, precision="bf16",
        momentum=0.9, normalize={"mean": 0.5, "std": 0.25}, ours=MIXED, peers=GPU_COMPILED,
        channels_last=True, right=between("test_accuracy", 0.9, 1),
        wanted=[("times", "torch cuda compile", 1), ("times", "torch cuda compile+graph", 1)]),
    Row(name="narrow", title="32-64-64-64-64-16, batch 16,384, bf16", make=many_points, shape=(32,),
        layers=dense(64, 64, 64, 64, 16), loss="mse", lr=0.1, epochs=20, batch_size=1 << 14, precision="bf16",
        ours=MIXED, peers=GPU_PEERS, same=0.05, draws_first=2),
    Row(name="linear-cpu", title="linear 6-6-1, one core", runs=("cpu",), device="cpu", one_core=True,
        peers=CORE_PEERS, wanted=[("times", "numpy cpu 1 core", 25)], **LINEAR),
    Row(name="logistic-cpu", title="logistic 19-1, one core", runs=("cpu",), device="cpu", one_core=True,
        peers=CORE_PEERS[:3], **LOGISTIC),
    disc_row(8, 0.05, 2, name="disc-8-cpu", title="disc, 8 layers, one core", runs=("cpu",), device="cpu",
             one_core=True, peers=CORE_PEERS, wanted=[("times", "torch cpu 1 core", 5)]),
    Row(name="mnist-cpu", title="MNIST CNN, 1 epoch, one core", runs=("cpu",), device="cpu", one_core=True,
        peers=[("torch", "cpu", True, ["eager"]), ("jax", "cpu", True, ["scan"])],
        right=between("test_accuracy", 0.8, 0.95), wanted=[("times", "torch cpu 1 core", 1.5)],
        **dict(DIGITS, epochs=1)),
]
