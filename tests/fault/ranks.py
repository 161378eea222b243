#!/usr/bin/env python3
"""ranks.py BUILD: kill -9 of a rank, of their worker, of the daemon, or of both, at moments of chance, while jobs train
on several ranks.

A rank is a thread, so its death is the worker's. Each job takes some kills, and goes on from its last checkpoint
after each. At its end its weights, to the bit, and its epochs are compared with those of the same job that nothing
disturbed, and /dev/shm with what was there before. Prints a table. Ends with 1 if anything differs.
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

OTHERS = "epochd-power."  # a test that runs beside this one has its disks there
VICTIMS = ["rank", "worker", "daemon", "both"]
GRIDS = [{"data": 2}, {"data": 4}, {"model": 2}, {"model": 4, "micro_batches": 3}, {"data": 2, "model": 2},
         {"data": 4, "model": 2, "micro_batches": 3}, {"data": 2, "model": 4, "micro_batches": 5}]
LAYERS = [{"type": "linear", "out_features": 12}, {"type": "tanh"}, {"type": "dropout", "p": 0.1},
          {"type": "linear", "out_features": 12}, {"type": "batch_norm"}, {"type": "relu"},
          {"type": "linear", "out_features": 2}]


def shared_memory():
    return {name for name in os.listdir("/dev/shm") if not name.startswith(OTHERS)}


def job(grid, epochs):
    return {"data": {"generator": "disc", "rows": 300, "validation": 0.2}, "model": {"layers": LAYERS},
            "loss": "cross_entropy", "optimizer": {"type": "adam", "lr": 0.01}, "epochs": epochs, "batch_size": 50,
            "seed": 5, "device": "cpu", "parallel": grid, "report_every": 1, "checkpoint": {"every_seconds": 0}}


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
    def __init__(self, options, scratch, body, chance):
        self.options, self.chance, self.scratch = options, chance, scratch
        self.data, self.log = f"{scratch}/{time.time_ns()}", scratch + "/epochd.log"
        self.daemon = Daemon(options.build, self.data, self.log)
        self.job = submitted(Http(self.daemon.port), body)

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

    def rank(self):
        """The thread of a rank of a worker that trains, where there is one."""
        threads = [int(thread) for worker in workers(self.daemon) for thread in os.listdir(f"/proc/{worker}/task")
                   if int(thread) != worker]
        return self.chance.choice(threads) if threads else None

    def strike(self, victim):
        if victim == "rank":
            thread = self.rank()
            kill([thread] if thread else [])
            return thread is not None
        if victim in ("worker", "both"):
            kill(workers(self.daemon))
        if victim in ("daemon", "both"):
            kill([self.daemon.process.pid])
            self.daemon.process.wait()
            self.daemon = Daemon(self.options.build, self.data, self.log)
        return True

    def run(self, kills, counts):
        step = 0
        for turn in range(kills):
            if not self.is_further(step):
                break
            step = self.step()
            time.sleep(self.chance.uniform(0, 0.1))
            victim = VICTIMS[(turn + self.chance.randrange(len(VICTIMS))) % len(VICTIMS)]
            counts[victim] += self.strike(victim)
        http = Http(self.daemon.port)
        return ended(http, self.job), outcome(http, self.job)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=8, help="kills")
    parser.add_argument("--seed", default=str(time.time_ns()))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    chance = random.Random(options.seed)
    counts, faults, turn = dict.fromkeys(VICTIMS, 0), [], 0
    each = max(1, min(5, options.rounds // 2))
    before = shared_memory()
    print(f"seed {options.seed}\n| ranks | kills | attempts | weights | epochs |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="epochd-ranks.") as scratch:
        while sum(counts.values()) < options.rounds and turn < 4 * options.rounds:
            grid = GRIDS[turn % len(GRIDS)]
            turn += 1
            body = job(grid, 150 + 150 * each)
            calm = Daemon(options.build, scratch + "/calm", scratch + "/calm.log")
            name = submitted(Http(calm.port), body)
            ended(Http(calm.port), name)
            whole = outcome(Http(calm.port), name)
            calm.stop()
            disturbed = Disturbed(options, scratch, body, chance)
            so_far = sum(counts.values())
            try:
                found, (weights, epochs) = disturbed.run(min(each, options.rounds - so_far), counts)
                same = ("same bits" if weights == whole[0] else "OTHER", "same" if epochs == whole[1] else "OTHER")
                print(f"| {json.dumps(grid)} | {sum(counts.values()) - so_far} | {found['attempt']} | {same[0]} | "
                      f"{same[1]} |", flush=True)
                if "OTHER" in same:
                    faults.append(f"{grid}: {same}")
            except Wrong as wrong:
                faults.append(f"{grid}: {wrong}")
            finally:
                disturbed.daemon.kill()
    left = sorted(shared_memory() - before)
    print("killed:", ", ".join(f"{count} {victim}" for victim, count in counts.items()), "| left in /dev/shm:", left)
    for fault in faults + [f"left in /dev/shm: {left}"] * bool(left):
        print("FAILED:", fault)
    sys.exit(1 if faults or left or not sum(counts.values()) else 0)


if __name__ == "__main__":
    main()
