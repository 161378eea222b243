#!/usr/bin/env python3
"""population.py [ROW…] [--turns N]: the measurements of tests/bench/population, which says what is in the
environment."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import numpy as np  # noqa: E402 (after the environment of what it may load)

import workloads  # noqa: E402

MATMUL = {"fp32": "highest", "tf32": "tensorfloat32"}
# How far a member's loss may be from JAX's, relatively, and how many members may be farther: a network that
# trains with a rate at the edge goes its own way with another rounding.
SAME = {"fp32": 0.01, "tf32": 0.05}
STRAYS = 0.02
JUDGED_ROWS = 1000


class Row:
    """wanted: (what, how much): "rate": million model-epochs a second; "times": JAX's seconds over ours."""

    def __init__(self, name, count, make, widths, loss, epochs, batch=0, precision="fp32", lr=(1e-4, 1e-1), wanted=()):
        self.name, self.count, self.make, self.widths, self.loss = name, count, make, widths, loss
        self.epochs, self.batch, self.precision, self.lr, self.wanted = epochs, batch, precision, lr, wanted


def table():
    arrays = workloads.iron("linear")()
    x, y = arrays["x_train"], arrays["y_train"]
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
    return x.astype(np.float32), y.astype(np.float32).reshape(len(y), -1)


def three_classes():
    random = np.random.default_rng(3)
    x = random.normal(size=(128, 13))
    y = (x @ random.normal(size=(13, 3)) + 0.3 * random.normal(size=(128, 3))).argmax(1)
    return x.astype(np.float32), y.astype(np.int32)


def ten_thousand_digits():
    arrays = workloads.digits()
    x = arrays["x_train"][:10000].reshape(-1, 784).astype(np.float32)
    return (x / 255 - np.float32(0.1307)) / np.float32(0.3081), arrays["y_train"][:10000].astype(np.int32)


ROWS = [
    Row("table-1024", 1024, table, (6, 1), "mse", 4000, wanted=("rate", 250)),
    Row("table-16896", 16896, table, (6, 1), "mse", 4000, wanted=("rate", 400)),
    Row("classes-1024", 1024, three_classes, (32, 16, 3), "cross_entropy", 200, batch=32, wanted=("times", 4)),
    Row("digits-256", 256, ten_thousand_digits, (64, 10), "cross_entropy", 2, batch=100, precision="tf32",
        lr=(1e-3, 1e-1), wanted=("times", 1.5)),
]


def first_weights(row, in_features):
    """[(weight [count, out, in], bias [count, out])]"""
    random, layers = np.random.default_rng(1), []
    for width in row.widths:
        limit = 1 / np.sqrt(in_features)
        layers.append(tuple(random.uniform(-limit, limit, (row.count,) + shape).astype(np.float32)
                            for shape in ((width, in_features), (width,))))
        in_features = width
    return layers


def flat(layers):
    return np.concatenate([part.reshape(len(part), -1) for layer in layers for part in layer], axis=1)


def unflat(row, numbers, in_features):
    layers, at = [], 0
    for width in row.widths:
        weight = numbers[:, at:at + width * in_features].reshape(-1, width, in_features)
        at += width * in_features
        layers.append((weight, numbers[:, at:at + width]))
        at, in_features = at + width, width
    return layers


def losses(row, layers, x, y):
    """[count]: each member's loss, as the formula stands in a textbook."""
    x, y = x[:JUDGED_ROWS], y[:JUDGED_ROWS]
    out = np.empty(row.count)
    with np.errstate(all="ignore"):
        for i in range(row.count):
            z = x
            for l, (weight, bias) in enumerate(layers):
                z = z @ weight[i].T + bias[i]
                z = np.maximum(z, 0) if l + 1 < len(layers) else z
            z = z.astype(np.float64)
            if row.loss == "mse":
                out[i] = ((z - y) ** 2).mean()
            else:
                shifted = z - z.max(1, keepdims=True)
                out[i] = (np.log(np.exp(shifted).sum(1)) - shifted[np.arange(len(y)), y]).mean()
    return out


class Ours:
    def __init__(self, row, x, y, layers, lr, folder):
        self.row, self.folder = row, folder
        for name, numbers in (("x", x), ("y", y), ("first", flat(layers)), ("lr", lr)):
            np.ascontiguousarray(numbers).tofile(os.path.join(folder, name + ".bin"))
        program = os.path.join(os.environ["EPOCHD_BENCH_PROGRAMS"], "bench_population")
        self.process = subprocess.Popen(
            [program, os.environ["EPOCHD_BENCH_PLUGIN"], folder, str(row.count), str(x.shape[1]),
             ",".join(map(str, row.widths)), row.loss, str(len(x)), str(row.batch), str(row.epochs), row.precision],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        if not said:
            raise SystemExit(f"{self.row.name}: bench_population ended")
        return float(said)

    def trained(self):
        return np.fromfile(os.path.join(self.folder, "trained.bin"), np.float32).reshape(self.row.count, -1)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Jax:
    """vmap over the members of a scan over the epochs, in it one over the batches: compiled whole."""

    def __init__(self, row, x, y, layers, lr):
        import jax
        from jax import lax, numpy as jnp
        self.jax, self.row = jax, row
        batch = row.batch or len(x)
        self.first = [(jnp.asarray(weight.transpose(0, 2, 1)), jnp.asarray(bias)) for weight, bias in layers]
        self.lr = jnp.asarray(lr)
        self.parts = (jnp.asarray(x).reshape(-1, batch, x.shape[1]),
                      jnp.asarray(y).reshape((-1, batch) + y.shape[1:]))

        def loss(parameters, x, y):
            for l, (weight, bias) in enumerate(parameters):
                x = x @ weight + bias
                x = jax.nn.relu(x) if l + 1 < len(parameters) else x
            if row.loss == "mse":
                return ((x - y) ** 2).mean()
            return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()

        def train_one(parameters, lr, parts):
            def step(parameters, part):
                grad = jax.grad(loss)(parameters, *part)
                return jax.tree.map(lambda p, g: p - lr * g, parameters, grad), None

            def epoch(parameters, _):
                if len(parts[0]) == 1:
                    return step(parameters, (parts[0][0], parts[1][0]))
                return lax.scan(step, parameters, parts)[0], None
            return lax.scan(epoch, parameters, None, length=row.epochs)[0]
        self.train = jax.jit(jax.vmap(train_one, in_axes=(0, 0, None)))

    def run(self):
        with self.jax.default_matmul_precision(MATMUL[self.row.precision]):
            begin = time.perf_counter()
            self.out = self.jax.block_until_ready(self.train(self.first, self.lr, self.parts))
            return time.perf_counter() - begin

    def trained(self):
        return [(np.asarray(weight).transpose(0, 2, 1), np.asarray(bias)) for weight, bias in self.out]


def judge(row, ours, theirs):
    """What is wrong with our losses, or None."""
    if (np.isfinite(ours) != np.isfinite(theirs)).mean() > STRAYS:
        return f"{(~np.isfinite(ours)).sum()} members diverge, {(~np.isfinite(theirs)).sum()} of JAX's"
    both = np.isfinite(ours) & np.isfinite(theirs)
    off = np.abs(ours[both] - theirs[both]) / np.maximum(np.abs(theirs[both]), 1e-3)
    strays = (off > SAME[row.precision]).mean()
    if not both.any() or strays > STRAYS:
        return f"the losses of {strays:.1%} of the members are not JAX's (the median is off by {np.median(off):.2g})"
    return None


def measure(row, turns):
    """Prints a line; whether the answer is right."""
    x, y = row.make()
    layers = first_weights(row, x.shape[1])
    lr = np.geomspace(*row.lr, row.count).astype(np.float32)
    with tempfile.TemporaryDirectory(prefix="epochd-bench-population.") as folder:
        ours, jax = Ours(row, x, y, layers, lr, folder), None
        first = ours.run()
        bits = ours.trained()
        try:
            jax = Jax(row, x, y, layers, lr)
            jax.run()
        except ImportError as reason:
            print(f"{row.name}: no JAX: {reason}")
        seconds, peers = [], []
        for _ in range(turns):
            seconds.append(ours.run())
            if jax:
                peers.append(jax.run())
        again = ours.trained()
        ours.end()
    wrong = None if np.array_equal(bits.view(np.uint32), again.view(np.uint32)) else "two trainings differ in bits"
    if jax:
        wrong = wrong or judge(row, losses(row, unflat(row, again, x.shape[1]), x, y),
                               losses(row, jax.trained(), x, y))
    if wrong:
        print(f"{row.name}: WRONG: {wrong}", flush=True)
        return False
    took = statistics.median(seconds)
    rate = row.count * row.epochs / took
    steps = row.epochs * -(-len(x) // (row.batch or len(x)))
    line = (f"{row.name}: {took:.4f} s ({min(seconds):.4f} … {max(seconds):.4f}; first {first:.2f}), "
            f"{rate / 1e6:.4g} M model-epochs/s, {took / steps * 1e6:.2f} us a step of all")
    if peers:
        line += f"; JAX {statistics.median(peers):.4f} s; ratio {statistics.median(peers) / took:.2f}"
    print(f"{line}; wanted: {row.wanted[0]} {row.wanted[1]}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description="measures; see tests/bench/population")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("names", nargs="*", metavar="ROW")
    options = parser.parse_args()
    unknown = set(options.names) - {row.name for row in ROWS}
    if unknown:
        raise SystemExit(f"there is no row {sorted(unknown)}; there are {[row.name for row in ROWS]}")
    right = [measure(row, options.turns) for row in ROWS if not options.names or row.name in options.names]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
