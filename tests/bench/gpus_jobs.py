"""gpus_jobs.py: a daemon on several GPUs, and the networks that tests/bench/gpus trains on them."""

import json
import os
import signal
import time

import numpy as np

import workloads
from contenders import NotRun
from daemon import Daemon, Failed
from sweep_requests import JSON, job_of

LABELS_DRAWN = 0.3  # of all rows: so that a loss stays far from zero, and two can differ
STEPS_AN_EPOCH = 4  # of the largest batch


def pictures_of(shape, rows, seed=1):
    """Ten classes, each a pattern of its own under noise, in bytes; some labels are drawn."""
    random = np.random.default_rng(seed)
    pattern = random.integers(64, 192, [10] + list(shape))
    out = {}
    for split, count in (("train", rows), ("test", 256)):
        y = random.integers(0, 10, count)
        x = np.empty([count] + list(shape), np.uint8)
        for first in range(0, count, 4096):
            part = y[first:first + 4096]
            x[first:first + 4096] = pattern[part] + random.integers(-64, 64, [len(part)] + list(shape))
        drawn = random.random(count) < LABELS_DRAWN
        y[drawn] = random.integers(0, 10, drawn.sum())
        out["x_" + split], out["y_" + split] = x, y.astype(np.int64)
    return out


class Net:
    """A network of the table: `rows` a GPU in each step. stages_alone: stages are all that it is measured with."""

    def __init__(self, name, title, shape, layers, rows, stages_alone=False, **more):
        self.name, self.rows, self.stages_alone = name, rows, stages_alone
        self.row = workloads.Row(name, title, None, shape, layers, "cross_entropy", precision="bf16",
                                 normalize={"mean": 0.5, "std": 0.25}, batch_size=rows, **more)
        self.row.rows_count = rows
        self.title, self.shape = title, shape

    def without(self, kind):
        """The same layers but those."""
        return [layer for layer in self.row.layers if layer["type"] != kind]


def nets(smoke):
    if smoke:
        tiny = [{"type": "conv2d", "out_channels": 4, "kernel_size": 3, "padding": 1}, {"type": "batch_norm"},
                {"type": "relu"}, {"type": "max_pool2d", "kernel_size": 2}, {"type": "flatten"},
                {"type": "linear", "out_features": 10}]
        return [Net("wide", "64-32-32-10", (64,), workloads.dense(32, 32, 10), 64, lr=0.02),
                Net("deep", "64, four of 32, 10", (64,), workloads.dense(*[32] * 4, 10), 64, lr=0.02, stages_alone=True),
                Net("pictures", "3-4 CNN, 8x8", (3, 8, 8), tiny, 32, lr=0.02, momentum=0.9, channels_last=True)]
    deep = [dict(layer, init="kaiming") if layer["type"] == "linear" else layer
            for layer in workloads.dense(*[2048] * 8, 10)]  # by the default its losses hardly move
    return [Net("wide", "784-4096-4096-10, 4,096 rows a GPU, bf16", (784,), workloads.dense(4096, 4096, 10), 4096,
                lr=0.02),
            Net("deep", "784, eight layers of 2048, 10, 4,096 rows, bf16", (784,), deep, 4096,
                lr=0.02, stages_alone=True),
            Net("pictures", "3-64-128-256-512 CNN, 32x32, 512 rows a GPU, bf16", (3, 32, 32),
                workloads.pictures_network(), 512, lr=0.02, momentum=0.9, channels_last=True)]


def counts_of(count):
    """2, 4, …, and all."""
    found, each = [], 2
    while each < count:
        found.append(each)
        each *= 2
    return found + [count]


class Bench:
    """What the parts share: the options, the time that is left, one daemon with its data."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.until = time.monotonic() + options.seconds
        self.held, self.uploaded, self.count = None, set(), options.count
        self.known = {}  # losses, by job
        self.measured = options.smoke  # whether what devices cost is known, or need not be
        self.nets = nets(options.smoke)

    def left(self):
        return self.until - time.monotonic()

    def size(self, full, smoke):
        return smoke if self.options.smoke else full

    def flags(self):
        return ("--plugin", os.path.abspath(self.options.plugin)) if self.options.plugin else ()

    def look(self):
        """How many GPUs there are; ends where those are too few."""
        daemon = Daemon(self.options.prefix, devices="auto", flags=self.flags())
        listed = daemon.request("GET", "/v1/devices")["data"]
        found = sum(device["id"].startswith("cuda:") for device in listed)
        said = [line for line in open(daemon.log) if "device" in line or "cuda" in line or "plug-in" in line]
        daemon.stop()
        self.count = self.count or found
        if found < max(2, self.count):
            raise SystemExit(f"the daemon finds {found} GPUs, and {max(2, self.count)} are needed; it says:\n" +
                             "".join(said)[:2000])

    def daemon(self):
        if self.held is None:
            devices = ",".join(f"cuda:{number}" for number in range(self.count))
            folder = os.path.join(self.folder, "daemon")
            os.makedirs(folder, exist_ok=True)
            self.held = Daemon(self.options.prefix, devices=devices, flags=self.flags(), folder=folder)
            self.held.wait_for("cuda", calibrated=not self.measured)
            self.measured = True  # the next one reads it, and says nothing
        self.held.connection.close()  # a new one: the daemon closes those that idle
        return self.held

    def rest(self):
        """The daemon ends, so that others have the GPUs. The next one has its data and its calibrations."""
        if self.held:
            self.held.stop()
        self.held = None

    def drop(self):
        """The daemon is killed: what it was asked is not known to have ended."""
        if self.held:
            os.killpg(self.held.process.pid, signal.SIGKILL)
            self.held.process.wait()
        self.held = None

    def data_rows(self, net):
        return net.rows * self.count * STEPS_AN_EPOCH

    def data(self, net):
        """The name of the network's rows on the daemon."""
        if net.name not in self.uploaded:
            path = os.path.join(self.folder, net.name + ".npz")
            np.savez(path, **pictures_of(net.shape, self.data_rows(net)))
            with open(path, "rb") as file:
                self.daemon().upload(net.name, file.read())
            os.unlink(path)
            self.uploaded.add(net.name)
        return net.name

    def job(self, net, rows, device, parallel=None, **more):
        """rows: of a batch."""
        job = dict(net.row.job(self.data(net), None), batch_size=rows, device=device, seed=1)
        if parallel:
            job["parallel"] = parallel
        return dict(job, **more)

    def run(self, job):
        """The job as it ended; NotRun where it is refused."""
        daemon = self.daemon()
        refusal = daemon.refusal(job)
        if refusal:
            raise NotRun(refusal)
        done = job_of(daemon, daemon.request("POST", "/v1/jobs", json.dumps(job), JSON)["id"])
        if done["status"] != "succeeded":
            raise Failed(f"the job {done['status']}: {done['error']}")
        return done

    def losses(self, job):
        """The loss of each epoch. The same job is trained once."""
        key = json.dumps(job, sort_keys=True)
        if key not in self.known:
            self.known[key] = self.losses_of(self.run(dict(job, report_every=1))["id"])
        return self.known[key]

    def losses_of(self, identity):
        connection = self.daemon().connection
        connection.request("GET", f"/v1/jobs/{identity}/events?follow=0", headers={"Accept": "application/x-ndjson"})
        events = map(json.loads, connection.getresponse().read().splitlines())
        return [event["loss"] for event in events if event["type"] == "epoch"]
