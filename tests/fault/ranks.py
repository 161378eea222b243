#!/usr/bin/env python3
"""ranks.py BUILD: kill -9 of a rank, of their worker, of the daemon, or of both, at moments of chance, while jobs train
on several ranks: those of the CPU, or with --gpus N on N GPUs.

A rank is a thread of its worker on the CPU, and a stream of its worker on GPUs, so its death is the worker's. On GPUs
one worker leads, and those of the job's other GPUs wait idle: they are killed too. Each job takes some kills, and goes
on from its last checkpoint. At its end its weights, to the bit, and its epochs are compared with those of the same job
that nothing disturbed, and /dev/shm with what was there before. Prints a table. Ends with 1 if anything differs.
"""

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
import time

from clients import Daemon, ENDED, Http, Wrong
from kills import kill, workers
from summary import summary

OTHERS = "epochd-power."  # a test that runs beside this one has its disks there
PATIENCE_SECONDS = 240
VICTIMS = ["rank", "worker", "daemon", "both"]
GPU_VICTIMS = VICTIMS + ["idle worker"]
GRIDS = [{"data": 2}, {"data": 4}, {"model": 2}, {"model": 4, "micro_batches": 3}, {"data": 2, "model": 2},
         {"data": 4, "model": 2, "micro_batches": 3}, {"data": 2, "model": 4, "micro_batches": 5}]
LAYERS = [{"type": "linear", "out_features": 12}, {"type": "tanh"}, {"type": "dropout", "p": 0.1},
          {"type": "linear", "out_features": 12}, {"type": "batch_norm"}, {"type": "relu"},
          {"type": "linear", "out_features": 2}]


def shared_memory():
    return {name for name in os.listdir("/dev/shm") if not name.startswith(OTHERS)}


def job(grid, epochs, device):
    return {"data": {"generator": "disc", "rows": 300, "validation": 0.2}, "model": {"layers": LAYERS},
            "loss": "cross_entropy", "optimizer": {"type": "adam", "lr": 0.01}, "epochs": epochs, "batch_size": 50,
            "seed": 5, "device": device, "parallel": grid, "report_every": 1, "checkpoint": {"every_seconds": 0}}


def ended(http, identity):
    while (found := json.loads(http.must(200, "GET", f"/v1/jobs/{identity}?wait=30")))["status"] not in ENDED:
        pass
    if found["status"] != "succeeded":
        raise Wrong(f"the job {found['status']}: {found['error']}")
    return found


def submitted(http, body):
    return json.loads(http.must(201, "POST", "/v1/jobs", body))["id"]


def outcome(http, identity):
    """The weights' bytes and the epochs as they were told."""
    weights = http.must(200, "GET", f"/v1/jobs/{identity}/weights")
    head = 8 + int.from_bytes(weights[:8], "little")
    lines = http.must(200, "GET", f"/v1/jobs/{identity}/events?follow=0").decode().splitlines()
    events = [json.loads(line) for line in lines]
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        raise Wrong("an event is missing or doubled")
    epochs = [(event["epoch"], event["loss"]) for event in events if event["type"] == "epoch"]
    return hashlib.sha256(weights[head:]).hexdigest(), epochs


class Disturbed:
    def __init__(self, options, data, chance):
        self.options, self.chance = options, chance
        self.data, self.log = data, data + ".log"
        self.job, self.daemon = None, None

    def start(self):
        gpus, plugin = self.options.gpus, self.options.plugin
        flags = ["--devices", ",".join(f"cuda:{gpu}" for gpu in range(gpus))] if gpus else []
        libraries = os.environ.get("EPOCHD_BENCH_LIBRARIES")
        self.daemon = Daemon(self.options.build, self.data, self.log, {"LD_LIBRARY_PATH": libraries} if libraries else {},
                             flags + (["--plugin", plugin] if plugin else []))
        until = time.monotonic() + PATIENCE_SECONDS
        while gpus and any(device["state"] not in ("idle", "busy") for device in self.devices()):
            if time.monotonic() > until:
                raise Wrong(f"GPUs are not ready after {PATIENCE_SECONDS} s: {self.daemon.log_end()}")
            time.sleep(0.01)

    def devices(self):
        found = json.loads(Http(self.daemon.port).must(200, "GET", "/v1/devices"))["data"]
        if any(device["state"] == "lost" for device in found):
            raise Wrong(f"a GPU is lost: {self.daemon.log_end()}")
        return found

    def calm(self, body):
        """What the job ends with that nothing disturbs."""
        http = Http(self.daemon.port)
        name = submitted(http, body)
        ended(http, name)
        return outcome(http, name)

    def step(self):
        """Of the newest checkpoint."""
        rows = json.loads(Http(self.daemon.port).must(200, "GET", f"/v1/jobs/{self.job}/checkpoints"))["data"]
        return rows[0]["step"] if rows else 0

    def is_further(self, step):
        """Once it has a newer checkpoint; False: it has ended."""
        http = Http(self.daemon.port)
        while self.step() <= step:
            if json.loads(http.must(200, "GET", f"/v1/jobs/{self.job}"))["status"] in ENDED:
                return False
            time.sleep(0.002)
        return True

    def leaders(self):
        """The worker that has the job, where it is there."""
        return [device["pid"] for device in self.devices() if self.job in device["jobs"] and device["pid"]]

    def victims(self, victim):
        """The processes, or the thread, to be killed of workers."""
        leaders = self.leaders() if self.options.gpus else workers(self.daemon)
        if victim == "rank":
            threads = [int(thread) for worker in leaders for thread in os.listdir(f"/proc/{worker}/task")
                       if int(thread) != worker]
            return [self.chance.choice(threads)] if threads else []
        if victim == "idle worker":
            others = sorted(set(workers(self.daemon)) - set(leaders)) if leaders else []
            return [self.chance.choice(others)] if others else []
        if victim == "worker":
            return leaders
        return workers(self.daemon) if victim == "both" else []

    def strike(self, victim):
        found = self.victims(victim)
        kill(found)
        if victim in ("daemon", "both"):
            kill([self.daemon.process.pid])
            self.daemon.process.wait()
            self.start()
            return True
        return bool(found)

    def run(self, body, kills, counts):
        step, victims = 0, GPU_VICTIMS if self.options.gpus > 1 else VICTIMS
        self.job = submitted(Http(self.daemon.port), body)
        for turn in range(kills):
            if not self.is_further(step):
                break
            step = self.step()
            time.sleep(self.chance.uniform(0, 0.1))
            victim = victims[(turn + self.chance.randrange(len(victims))) % len(victims)]
            counts[victim] += self.strike(victim)
        http = Http(self.daemon.port)
        return ended(http, self.job), outcome(http, self.job)


def grids(gpus):
    """Replicas take a GPU each."""
    return [grid for grid in GRIDS if not gpus or grid.get("data", 1) <= gpus]


def campaign(options, chance, scratch, counts):
    """The table's rows, each printed once its job has ended; what differs is in their faults."""
    possible, rows, turn = grids(options.gpus), [], 0
    each = max(1, min(5, options.rounds // len(possible)))
    until = time.monotonic() + options.seconds
    while sum(counts.values()) < options.rounds and turn < 4 * options.rounds and time.monotonic() < until:
        grid, so_far = possible[turn % len(possible)], sum(counts.values())
        row = {"grid": grid, "kills": 0, "attempts": None, "weights": None, "epochs": None, "fault": None}
        turn += 1
        # What devices cost is measured once. A job that went wrong may still run: the next one has a folder of its own.
        disturbed = Disturbed(options, f"{scratch}/{sum(bool(each['fault']) for each in rows)}", chance)
        try:
            disturbed.start()
            body = job(grid, 150 + 150 * each, "cuda" if options.gpus else "cpu")
            whole = disturbed.calm(body)
            found, (weights, epochs) = disturbed.run(body, min(each, options.rounds - so_far), counts)
            row.update(attempts=found["attempt"], weights="same bits" if weights == whole[0] else "OTHER",
                       epochs="same" if epochs == whole[1] else "OTHER")
            row["fault"] = "other weights or epochs" if "OTHER" in (row["weights"], row["epochs"]) else None
        except Wrong as wrong:
            row["fault"] = str(wrong)
        finally:
            if disturbed.daemon:
                disturbed.daemon.kill()
        row["kills"] = sum(counts.values()) - so_far
        rows.append(row)
        print(f"| {json.dumps(grid)} | {row['kills']} | {row['attempts']} | {row['weights']} | {row['epochs']} |", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=8, help="kills")
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--gpus", type=int, default=0, help="0: ranks of the CPU")
    parser.add_argument("--plugin", help="of the GPUs, where it is another than the programs'")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no further job begins")
    parser.add_argument("--json", help="the table and what was killed")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    counts = dict.fromkeys(GPU_VICTIMS if options.gpus > 1 else VICTIMS, 0)
    before = shared_memory()
    print(f"seed {options.seed}\n| ranks | kills | attempts | weights | epochs |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="epochd-ranks.") as scratch:
        rows = campaign(options, random.Random(options.seed), scratch, counts)
    left = sorted(shared_memory() - before)
    print("killed:", ", ".join(f"{count} {victim}" for victim, count in counts.items()), "| left in /dev/shm:", left)
    faults = [f"{row['grid']}: {row['fault']}" for row in rows if row["fault"]]
    faults += [f"left in /dev/shm: {left}"] * bool(left)
    for fault in faults:
        print("FAILED:", fault)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"killed": counts, "rows": rows, "faults": faults}, file)
    summary(sum(counts.values()), len(faults), jobs=len(rows))
    sys.exit(1 if faults or not sum(counts.values()) else 0)


if __name__ == "__main__":
    main()
