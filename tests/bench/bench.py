#!/usr/bin/env python3
"""bench.py PREFIX JSON: the measurements of tests/bench/run. PREFIX holds two installations, plain
and stripped. Every answer is checked before its time counts."""

import json
import os
import platform
import statistics
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
import numpy as np  # noqa: E402 (after the number of its threads)

from daemon import Daemon  # noqa: E402

XOR = {"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 1000,
       "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                            {"type": "linear", "out_features": 1}]},
       "optimizer": {"lr": 0.5, "momentum": 0.9}}
EPOCHS = 40000  # of 6-6-1
NUMPY_EPOCHS = 10000  # enough for a rate; its answer is checked on a run of EPOCHS


def resident_kib(process):
    for line in open(f"/proc/{process}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise SystemExit(f"process {process} has no VmRSS")


def installed_bytes(prefix):
    return {name: os.path.getsize(os.path.join(prefix, "lib", "epochd", name))
            for name in sorted(os.listdir(os.path.join(prefix, "lib", "epochd")))}


def footprint(prefix):
    daemon = Daemon(os.path.join(prefix, "plain"))
    time.sleep(2)
    resident = {name: resident_kib(process) for name, process in daemon.processes().items()}
    devices = daemon.request("GET", "/v1/devices")["data"]
    daemon.stop()
    return resident, devices


def round_trips(prefix, job, count=100):
    daemon = Daemon(os.path.join(prefix, "plain"))
    seconds = []
    for turn in range(count + 5):
        end, took = daemon.stream(dict(job, seed=turn + 1))
        if end["metrics"]["test"]["accuracy"] != 1:
            raise SystemExit(f"XOR was not learnt with seed {turn + 1}: {end}")
        if turn >= 5:
            seconds.append(took)
    daemon.stop()
    seconds.sort()
    return {"p50_ms": statistics.median(seconds) * 1e3, "p99_ms": seconds[int(0.99 * count) - 1] * 1e3,
            "least_ms": seconds[0] * 1e3}


def linear_data():
    """The flat JSON form, as bytes, and what it holds: x, y, x_test, y_test."""
    path = os.path.join(os.environ.get("EPOCHD_TEST_DATA", ""), "iron", "linear.json")
    if os.path.exists(path):
        raw = open(path, "rb").read()
        data = json.loads(raw)
    else:
        random = np.random.RandomState(1)
        x = random.normal(size=(321 + 93, 6)) * [1, 10, 3, 50, 2, 7]
        y = 30 + x @ [3, 0.4, -2, 0.1, 1, -0.5] + 5 * np.sin(x[:, 0]) + random.normal(size=414) * 3
        data = {"m": 321, "n": 6, "m_test": 93, "x": x[:321].ravel().tolist(), "y": y[:321].tolist(),
                "x_test": x[321:].ravel().tolist(), "y_test": y[321:].tolist()}
        raw = json.dumps(data).encode()
    shape = lambda name: np.array(data[name]).reshape(-1, data["n"])  # noqa: E731
    return raw, shape("x"), np.array(data["y"]), shape("x_test"), np.array(data["y_test"])


class NumpyNetwork:
    """6-6-1 with ReLU, full batch, written as one would who wants NumPy to be fast: float32,
    transposed, buffers kept."""

    def __init__(self, x, y, x_test, y_test):
        self.mean, self.deviation, self.y_mean, self.y_deviation = x.mean(0), x.std(0), y.mean(), y.std()
        self.x = ((x - self.mean) / self.deviation).astype(np.float32)
        self.y = ((y - self.y_mean) / self.y_deviation).astype(np.float32)[:, None]
        self.x_test, self.y_test = ((x_test - self.mean) / self.deviation).astype(np.float32), y_test
        random = np.random.RandomState(1)
        limit = np.float32(1 / np.sqrt(6))
        self.w1 = random.uniform(-limit, limit, (6, 6)).astype(np.float32)
        self.b1 = random.uniform(-limit, limit, 6).astype(np.float32)
        self.w2 = random.uniform(-limit, limit, (6, 1)).astype(np.float32)
        self.b2 = random.uniform(-limit, limit, 1).astype(np.float32)

    def train(self, epochs, lr=np.float32(0.005)):
        x, y, w1, b1, w2, b2 = self.x, self.y, self.w1, self.b1, self.w2, self.b2
        scale = np.float32(2 / len(y))
        hidden = np.empty((len(x), 6), np.float32)
        for _ in range(epochs):
            np.dot(x, w1, out=hidden)
            hidden += b1
            np.maximum(hidden, 0, out=hidden)
            grad = hidden @ w2
            grad += b2
            grad -= y
            grad *= scale
            grad_hidden = grad @ w2.T
            grad_hidden *= hidden > 0
            w2 -= lr * (hidden.T @ grad)
            b2 -= lr * grad.sum(0)
            w1 -= lr * (x.T @ grad_hidden)
            b1 -= lr * grad_hidden.sum(0)

    def test_mse(self):
        out = np.maximum(self.x_test @ self.w1 + self.b1, 0) @ self.w2 + self.b2
        return float(((out[:, 0] * self.y_deviation + self.y_mean - self.y_test) ** 2).mean())


def beside_numpy(prefix):
    raw, x, y, x_test, y_test = linear_data()
    core = min(os.sched_getaffinity(0))
    everywhere = os.sched_getaffinity(0)
    daemon = Daemon(os.path.join(prefix, "plain"), pinned_to=core)
    daemon.request("PUT", "/v1/datasets/linear", raw)
    os.sched_setaffinity(0, {core})

    peer = NumpyNetwork(x, y, x_test, y_test)
    peer.train(EPOCHS)
    expected = peer.test_mse()
    ours, theirs, executor = [], [], None
    for seed in range(1, 6):
        end, _ = daemon.stream({
            "data": {"dataset": "linear", "standardize": ["x", "y"]}, "seed": seed, "loss": "mse",
            "model": {"layers": [{"type": "linear", "out_features": 6}, {"type": "relu"},
                                 {"type": "linear", "out_features": 1}]},
            "optimizer": {"lr": 0.005}, "epochs": EPOCHS, "report_every": EPOCHS, "device": "cpu"})
        job = daemon.job(end["job"])
        mse, executor = job["metrics"]["test"]["mse"], job["executor"]
        if not 0.75 < mse / expected < 1.25:
            raise SystemExit(f"seed {seed}: test MSE {mse}, NumPy's is {expected}")
        ours.append(job["timing"]["epoch_microseconds"])
        started = time.perf_counter()
        NumpyNetwork(x, y, x_test, y_test).train(NUMPY_EPOCHS)
        theirs.append((time.perf_counter() - started) / NUMPY_EPOCHS * 1e6)
    daemon.stop()
    os.sched_setaffinity(0, everywhere)
    return {"executor": executor, "test_mse": mse, "numpy_test_mse": expected,
            "epoch_us": statistics.median(ours), "numpy_epoch_us": statistics.median(theirs),
            "ratio": statistics.median(theirs) / statistics.median(ours)}


def main():
    prefix, output = sys.argv[1:]
    resident, devices = footprint(prefix)
    plain, stripped = (installed_bytes(os.path.join(prefix, kind)) for kind in ("plain", "stripped"))
    default = round_trips(prefix, XOR)
    sparse = round_trips(prefix, dict(XOR, report_every=100))
    small = beside_numpy(prefix)

    rows = [(f"idle resident memory, {name}", f"{kib / 1024:.1f} MiB") for name, kib in resident.items()]
    rows += [(f"installed, {name}", f"{plain[name] / 1024:.0f} KiB, stripped {stripped[name] / 1024:.0f} KiB")
             for name in plain]
    for what, figures in (("1,000 event lines", default), ("10 event lines", sparse)):
        rows.append((f"XOR, 1,000 epochs, POST to end, {what}",
                     f"p50 {figures['p50_ms']:.2f} ms, p99 {figures['p99_ms']:.2f} ms"))
    rows.append((f"6-6-1, one core, {small['executor']}", f"{small['epoch_us']:.2f} us/epoch"))
    rows.append(("6-6-1, one core, NumPy " + np.__version__, f"{small['numpy_epoch_us']:.2f} us/epoch"))
    rows.append(("6-6-1, times faster than NumPy", f"{small['ratio']:.1f}"))
    width = max(len(what) for what, _ in rows)
    print()
    for what, value in rows:
        print(f"  {what:<{width}}  {value}")

    figures = {"machine": platform.machine(), "cores": os.cpu_count(), "devices": devices,
               "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
               "idle_resident_kib": resident, "installed_bytes": plain, "stripped_bytes": stripped,
               "xor_1000_epochs": default, "xor_1000_epochs_10_lines": sparse, "linear_6_6_1": small}
    with open(output, "w") as out:
        json.dump(figures, out, indent=2)
        out.write("\n")
    print(f"\nwritten to {output}")


if __name__ == "__main__":
    main()
