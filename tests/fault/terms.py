#!/usr/bin/env python3
"""terms.py BUILD: SIGTERM at moments of chance, to daemons that each have another mix of work: jobs of small and large
networks, folds, ranks, sweeps; clients that watch, that do not read an export to its end, and that send half an upload.

epochd must end with status 0. Each running job that has done a step must have a checkpoint by then, whatever its age,
and after a restart goes on from there: no epoch that its log has is trained again. All end as they do undisturbed.
Prints a table of counts, with the longest times from SIGTERM to a checkpoint and to the end; --timed: times above those
that are promised are faults. Ends with 1 if anything was lost or wrong.
"""

import argparse
import glob
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time

from checks import Counts, data_check, lost_check
from clients import ENDED, PATIENCE_S, XOR, Daemon, Http, Wrong
from ranks import outcome
from sweeps import leaderboard, numbers

COLUMNS = ["terms", "running", "started", "checkpoints", "lost", "wrong", "late"]
CHECKPOINT_S, END_S = 5, 8  # from SIGTERM
FLAGS = ["--devices", "cpu", "--cpu-jobs", "3"]  # and checkpoints as by default: none of young trainings


def linear(*widths):
    layers = [part for width in widths for part in ({"type": "linear", "out_features": width}, {"type": "tanh"})]
    return {"layers": layers[:-1]}


DISC = {"data": {"generator": "disc", "rows": 400, "validation": 0.2}, "loss": "bce_with_logits",
        "device": "cpu", "optimizer": {"type": "adam", "lr": 0.01}, "batch_size": 40}


def jobs(small_epochs):
    """Of about a second each."""
    small = dict(XOR, epochs=small_epochs, report_every=max(1, small_epochs // 50))
    disc = dict(DISC, model=linear(16, 1), epochs=small_epochs // 20, report_every=max(1, small_epochs // 500))
    return {"small": small,
            "best": dict(disc, keep="best"),
            "large": dict(DISC, model=linear(1500, 1500, 1), executor="cpu/fused", epochs=4),
            "wide": dict(DISC, model=linear(700, 700, 1), executor="cpu/blocked", epochs=6, keep="best"),
            "folds": dict(disc, data={"generator": "disc", "rows": 400}, folds=3, epochs=small_epochs // 200),
            "rows": dict(DISC, data={"generator": "disc", "rows": 300000}, model=linear(8, 1), batch_size=1000, epochs=2),
            "ranks": dict(disc, parallel={"data": 2}, batch_size=160, epochs=small_epochs // 400),
            "sweep": {"job": dict(XOR, epochs=max(9, small_epochs // 10)), "search": "random", "max_trials": 12,
                      "metric": "train.loss", "space": {"/optimizer/lr": {"log_uniform": [0.01, 2]}}}}


class Term(Daemon):
    FLAGS = FLAGS


def path_of(identity):
    return f"/v1/{'sweeps' if identity.startswith('swp') else 'jobs'}/{identity}"


def submit(http, name, spec):
    return json.loads(http.must(201, "POST", "/v1/sweeps" if name == "sweep" else "/v1/jobs", spec))["id"]


def ended(http, identity):
    while (state := json.loads(http.must(200, "GET", f"{path_of(identity)}?wait=30")))["status"] not in ENDED:
        pass
    if state["status"] != "succeeded":
        raise Wrong(f"{identity} {state['status']}: {state.get('error')}")
    return state


def result(http, name, identity):
    """What does not depend on when it was trained."""
    if name == "sweep":
        return leaderboard(http, identity), sorted(numbers(http, identity))
    metrics = http.job(identity)["metrics"]
    for part in metrics.get("parts", {}).get("each", []):
        del part["train_seconds"]
    return *outcome(http, identity), metrics


class Undisturbed:
    """What each job leaves that nothing disturbs; and a data folder with one that has large weights."""

    def __init__(self, build, scratch):
        self.data = scratch + "/template"
        daemon = Term(build, self.data, scratch + "/epochd.log")
        http = Http(daemon.port)
        measured = ended(http, submit(http, "small", dict(XOR, epochs=20000, report_every=20000)))
        self.spec = jobs(max(6000, int(0.7e6 / measured["timing"]["epoch_microseconds"])))
        self.result = {}
        for name, spec in self.spec.items():
            identity = submit(http, name, spec)
            ended(http, identity)
            self.result[name] = result(http, name, identity)
            if name == "large":
                self.large = identity
        daemon.stop()


class Held:
    """What clients hold open until the daemon is gone."""

    def __init__(self, port, chance, identities, large):
        self.sockets = []
        for identity in identities:
            if chance.random() < 0.5:
                self.ask(port, f"GET {path_of(identity)}/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for form in chance.sample(["json", "npz", "onnx", "safetensors"], chance.randrange(4)):
            self.ask(port, f"GET /v1/jobs/{large}/weights?format={form} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for name in range(chance.randrange(3)):
            self.ask(port, f"PUT /v1/datasets/half-{name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                           "Content-Length: 1000000\r\n\r\na,b\n" + "1,2\n" * 500)

    def ask(self, port, text):
        one = socket.create_connection(("127.0.0.1", port))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(text.encode())
        self.sockets.append(one)

    def close(self):
        for one in self.sockets:
            one.close()


def lines(data, identity):
    try:
        with open(f"{data}/jobs/{identity}/events.ndjson", "rb") as log:
            return log.read().count(b"\n")
    except FileNotFoundError:
        return 0


def newest(data, identity):
    """When its newest checkpoint was written; None: it has none."""
    files = glob.glob(f"{data}/jobs/{identity}/checkpoint-*.safetensors")
    return max((os.stat(file).st_mtime for file in files), default=None)


class Round:
    def __init__(self, options, right, scratch, counts, chance):
        self.options, self.right, self.counts, self.chance = options, right, counts, chance
        self.data, self.log = scratch + "/data", scratch + "/epochd.log"
        self.name = {}  # of a job, by its id
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(right.data, self.data)

    def run(self):
        daemon = Term(self.options.build, self.data, self.log)
        http = Http(daemon.port)
        for _ in range(self.chance.randrange(1, 6)):
            name = self.chance.choice(list(self.right.spec))
            self.name[submit(http, name, self.right.spec[name])] = name
        held = Held(daemon.port, self.chance, self.name, self.right.large)
        time.sleep(self.chance.uniform(0, 1))
        begun = {identity for identity in self.name
                 if json.loads(http.must(200, "GET", path_of(identity)))["status"] == "running"}
        started = {identity for identity in self.name if self.started(identity)}
        self.term(daemon, begun)
        held.close()
        logged = {identity: lines(self.data, identity) for identity in self.name}
        saved = {identity for identity in self.name if newest(self.data, identity)}
        daemon = Term(self.options.build, self.data, self.log)
        try:
            self.look(Http(daemon.port), begun, started, logged, saved)
            daemon.stop()
            self.warned(daemon)
            data_check(self.options.build, self.data)
            lost_check(self.data)
        finally:
            daemon.kill()

    def started(self, identity):
        """Whether its log says that it trains, so that it does a step at least."""
        try:
            with open(f"{self.data}/jobs/{identity}/events.ndjson", "rb") as log:
                return b'"type":"started"' in log.read()
        except FileNotFoundError:
            return False

    def term(self, daemon, begun):
        """SIGTERM, and how long it takes."""
        sent, clock = time.time(), time.monotonic()
        daemon.process.send_signal(signal.SIGTERM)
        status = daemon.process.wait(PATIENCE_S)
        seconds = time.monotonic() - clock
        if status != 0:
            raise Wrong(f"epochd ended with status {status} after SIGTERM: {daemon.log_end()}")
        self.warned(daemon)
        self.counts["terms"] += 1
        self.counts.end_s = max(self.counts.end_s, seconds)
        self.time(seconds, END_S, "epochd ended")
        for identity in begun:
            written = newest(self.data, identity)
            if written:
                self.counts.checkpoint_s = max(self.counts.checkpoint_s, written - sent)
                self.time(written - sent, CHECKPOINT_S, f"a job ({self.name[identity]}) had its checkpoint")

    def warned(self, daemon):
        """Nothing is wrong, so the log has no warnings."""
        with open(daemon.log, encoding="utf-8") as log:
            for line in map(json.loads, log):
                if line["level"] != "info":
                    self.counts.fault("wrong", f"epochd logs a {line['level']}: {line['message']}")

    def time(self, seconds, most, what):
        if self.options.timed and seconds > most:
            self.counts.fault("late", f"{what} {seconds:.2f} s after SIGTERM")

    def look(self, http, begun, started, logged, saved):
        for identity, name in self.name.items():
            ended(http, identity)
            if result(http, name, identity) != self.right.result[name]:
                self.counts.fault("wrong", f"{name} {identity} ended with another result")
            if name != "sweep":
                self.went_on(http, identity, logged[identity], *(identity in ones for ones in (begun, started, saved)))

    def went_on(self, http, identity, logged, running, started, saved):
        """Whether a job went on behind all that it had reported."""
        text = http.must(200, "GET", f"/v1/jobs/{identity}/events?follow=0").splitlines()
        events = [json.loads(line) for line in text]
        before = events[:logged]
        if before and before[-1]["type"] == "end":
            return
        self.counts["running"] += running
        self.counts["started"] += started
        self.counts["checkpoints"] += saved
        done = max((event["epoch"] for event in before if event["type"] == "epoch"), default=0)
        again = [event["epoch"] for event in events[logged:] if event["type"] == "restarted"]
        if (started or done > 0) and not saved:
            self.counts.fault("lost", f"{self.name[identity]} {identity} had done {done} epochs and left no checkpoint")
        if again and again[0] < done:
            self.counts.fault("lost", f"{self.name[identity]} {identity} had done {done} epochs and went on from {again}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=3, help="daemons")
    parser.add_argument("--timed", action="store_true", help="longer times than those promised are faults")
    parser.add_argument("--seed", default=str(time.time_ns()))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    counts, chance = Counts(), random.Random(options.seed)
    counts.checkpoint_s = counts.end_s = 0.0
    with tempfile.TemporaryDirectory(prefix="epochd-terms.") as scratch:
        right = Undisturbed(options.build, scratch)
        print(f"seed {options.seed}\n| " + " | ".join(COLUMNS) + " | checkpoint, s | end, s |\n" +
              "|---" * (len(COLUMNS) + 2) + "|")
        for number in range(options.count):
            before = len(counts.faults)
            try:
                Round(options, right, scratch, counts, chance).run()
            except Wrong as wrong:
                counts.fault("wrong", str(wrong))
            for fault in counts.faults[before:]:
                print(f"  {number + 1}: {fault}", flush=True)
            if (number + 1) % 10 == 0 or number + 1 == options.count:
                print("| " + " | ".join(str(counts[column]) for column in COLUMNS) +
                      f" | {counts.checkpoint_s:.2f} | {counts.end_s:.2f} |", flush=True)
    if counts.faults or counts["terms"] < options.count:
        sys.exit(1)


if __name__ == "__main__":
    main()
