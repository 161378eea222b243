"""sweep_requests.py: sweeps on a daemon, and the networks that the rows of tests/bench/sweeps search."""

import json
import os
import time

import numpy as np

import workloads
from daemon import Daemon, Failed

ENDED = ("succeeded", "failed", "cancelled")
JSON = {"Content-Type": "application/json"}
PAGE_ROWS = 10000


class Sweep:
    """A sweep that succeeded: its leaderboard, and the seconds from the request to the last row of that."""

    def __init__(self, daemon, request):
        daemon.connection.close()  # a new one: the daemon closes those that idle
        began = time.perf_counter()
        self.daemon = daemon
        self.id = daemon.request("POST", "/v1/sweeps", json.dumps(request), JSON)["id"]
        while (state := self._state(60))["status"] not in ENDED:
            pass
        self.rows = self._leaderboard()
        self.seconds = time.perf_counter() - began
        if state["status"] != "succeeded":
            raise Failed(f"the sweep {state['status']}: {state['error']}")
        self.train_seconds, self.trainings = state["timing"]["train_seconds"], state["progress"]["done"]

    def _state(self, wait):
        return self.daemon.request("GET", f"/v1/sweeps/{self.id}?wait={wait}")

    def _leaderboard(self):
        rows, offset = [], 0
        while offset is not None:
            page = self.daemon.request("GET", f"/v1/sweeps/{self.id}/trials?limit={PAGE_ROWS}&offset={offset}")
            rows += page["data"]
            offset = page["next"]
        return rows

    def epochs(self):
        """Of all its trainings, by its events: a trial of ASHA is trained once a rung."""
        path = f"/v1/sweeps/{self.id}/events?follow=0"
        self.daemon.connection.request("GET", path, headers={"Accept": "application/x-ndjson"})
        lines = self.daemon.connection.getresponse().read().splitlines()
        return sum(event["trial_epochs"] for event in map(json.loads, lines) if event["type"] == "trial")

    def trial(self, number):
        return self.daemon.request("GET", f"/v1/sweeps/{self.id}/trials/{number}")

    def promote(self, number, part=None):
        """The id of the job that the trial becomes."""
        query = "" if part is None else f"?part={part}"
        return self.daemon.request("POST", f"/v1/sweeps/{self.id}/trials/{number}/promote{query}")["id"]


def job_of(daemon, identity):
    """The job, once it has ended."""
    while (job := daemon.request("GET", f"/v1/jobs/{identity}?wait=60"))["status"] not in ENDED:
        pass
    return job


class Bench:
    """What the rows share: one daemon, its data, the device."""

    def __init__(self, options):
        self.options, self.device, self.daemon = options, options.device, None
        self.daemon = self.fresh_daemon()
        self.uploaded = set()

    def fresh_daemon(self):
        daemon = Daemon(self.options.prefix, devices="cpu" if self.device == "cpu" else "auto")
        daemon.wait_for(self.device.split(":")[0])
        devices = {device["id"]: device for device in daemon.request("GET", "/v1/devices")["data"]}
        if self.device not in devices:
            raise Failed(f"the daemon has no {self.device}, but {sorted(devices)}")
        self.at_once = devices[self.device]["threads"] if self.device == "cpu" else 1
        return daemon

    def data(self, make, daemon=None):
        """The name of this data set on the daemon; workloads.Missing."""
        daemon = daemon or self.daemon
        if (daemon, make.__name__) not in self.uploaded:
            path = os.path.join(daemon.folder, make.__name__ + ".npz")
            np.savez(path, **make())
            with open(path, "rb") as file:
                daemon.upload(make.__name__, file.read())
            self.uploaded.add((daemon, make.__name__))
        return make.__name__

    def size(self, full, smoke):
        return smoke if self.options.smoke else full

    def close(self):
        self.daemon.stop()


# --- data and jobs ------------------------------------------------------------------------------------

linear, logistic = workloads.iron("linear"), workloads.iron("logistic")


def few_digits():
    whole = workloads.digits()
    return {"x_train": whole["x_train"][:800].reshape(-1, 784), "y_train": whole["y_train"][:800],
            "x_test": whole["x_test"][:200].reshape(-1, 784), "y_test": whole["y_test"][:200]}


def few_images():
    digits = few_digits()
    return {name: array.reshape(-1, 28, 28) if name.startswith("x") else array for name, array in digits.items()}


def regression(bench, epochs, width=6, **more):
    """linear.json, its 6 features and its target standardized, by one hidden layer, full batch."""
    return dict({"data": {"dataset": bench.data(linear), "standardize": ["x", "y"]}, "loss": "mse", "epochs": epochs,
                 "model": {"layers": workloads.dense(width, 1)}, "device": bench.device}, **more)


def disc(bench, epochs, activation, rows=1000, **more):
    """2-w-2: whether a point is inside of a circle; a quarter of the rows validates."""
    return dict({"data": {"generator": "disc", "rows": rows, "validation": 0.25, "standardize": ["x"]},
                 "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": activation},
                                      {"type": "linear", "out_features": 2}]},
                 "loss": "cross_entropy", "epochs": epochs, "device": bench.device}, **more)


RATE, WIDTH = "/optimizer/lr", "/model/layers/0/out_features"
