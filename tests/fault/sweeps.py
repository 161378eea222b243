#!/usr/bin/env python3
"""sweeps.py BUILD: kill -9 of the daemon, of its worker, or of both, at moments of chance, while a sweep runs.

Each sweep takes some kills. At its end its events, and its leaderboard, are compared with those of the same sweep
that nothing disturbed. Prints a table. Ends with 1 if a trial was lost, doubled or other than it was.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time

from clients import Daemon, ENDED, Http, Wrong, XOR
from kills import KILLED, kill, workers
from summary import summary

FIGURES = ("trial", "rank", "values", "metric", "deviation", "metrics", "outcome", "epochs", "train_loss")


def request(trials, seconds, epoch_us, search):
    """A sweep of so many trainings, which takes about so long on two cores."""
    epochs = max(9, int(seconds * 2e6 / trials / epoch_us))
    space = {"/optimizer/lr": {"log_uniform": [0.01, 2]}, "/model/layers/0/out_features": {"values": [2, 4, 8]},
             "/optimizer/momentum": {"uniform": [0, 0.95]}}
    return {"job": dict(XOR, epochs=epochs), "space": space, "search": search, "metric": "train.loss",
            "repeats": 2, "max_trials": trials // 2}


def leaderboard(http, sweep):
    rows, offset = [], 0
    while offset is not None:
        page = json.loads(http.must(200, "GET", f"/v1/sweeps/{sweep}/trials?limit=1000&offset={offset}"))
        rows += [{key: row[key] for key in FIGURES} for row in page["data"]]
        offset = page["next"]
    return rows


def numbers(http, sweep):
    lines = http.must(200, "GET", f"/v1/sweeps/{sweep}/events?follow=0").decode().splitlines()
    return [event["number"] for event in map(json.loads, lines) if event["type"] == "trial"]


def undisturbed(build, scratch, bodies):
    daemon = Daemon(build, scratch + "/undisturbed", scratch + "/epochd.log")
    http, boards = Http(daemon.port), []
    for body in bodies:
        sweep = json.loads(http.must(201, "POST", "/v1/sweeps", body))["id"]
        while (state := json.loads(http.must(200, "GET", f"/v1/sweeps/{sweep}?wait=30"))["status"]) not in ENDED:
            pass
        if state != "succeeded":
            raise Wrong(f"undisturbed, the sweep {state}")
        boards.append(leaderboard(http, sweep))
    daemon.stop()
    return boards


class Disturbed:
    """A sweep and its kills."""

    def __init__(self, options, scratch, killed, body, chance):
        self.options, self.killed, self.chance = options, killed, chance
        self.data, self.log = f"{scratch}/{time.time_ns()}", scratch + "/epochd.log"
        self.daemon = Daemon(options.build, self.data, self.log)
        self.sweep = json.loads(Http(self.daemon.port).must(201, "POST", "/v1/sweeps", body))["id"]
        self.told, self.kills = 0, 0
        self.attempt, self.dead = 1, 0  # the one that runs, the one that was killed

    def look(self):
        """The sweep, once the attempt after the last kill has come further: what a killed worker had sent is no work of
        the next."""
        http = Http(self.daemon.port)
        while True:
            sweep = json.loads(http.must(200, "GET", f"/v1/sweeps/{self.sweep}"))
            if sweep["status"] in ENDED:
                return sweep
            if sweep["attempt"] > self.attempt:
                self.attempt, self.told = sweep["attempt"], sweep["progress"]["done"]
            elif sweep["attempt"] == self.attempt > self.dead and sweep["progress"]["done"] > self.told:
                return sweep
            time.sleep(0.002)

    def run(self, kills, pause):
        while self.kills < kills:
            time.sleep(self.chance.uniform(0, pause))
            sweep = self.look()
            if sweep["status"] in ENDED:
                break
            told = len(numbers(Http(self.daemon.port), self.sweep))
            self.told, self.dead = max(self.told, sweep["progress"]["done"]), sweep["attempt"]
            if self.killed != "daemon":
                kill(workers(self.daemon))
            if self.killed != "worker":
                kill([self.daemon.process.pid])
                self.daemon.process.wait()
                self.daemon = Daemon(self.options.build, self.data, self.log)
            self.kills += 1
            if len(numbers(Http(self.daemon.port), self.sweep)) < told:
                raise Wrong("a trial that was told is not there after the kill")
        http = Http(self.daemon.port)
        while (sweep := json.loads(http.must(200, "GET", f"/v1/sweeps/{self.sweep}?wait=30")))["status"] not in ENDED:
            pass
        if sweep["status"] != "succeeded":
            raise Wrong(f"the sweep {sweep['status']}: {sweep['error']}")
        return numbers(http, self.sweep), leaderboard(http, self.sweep)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=9, help="kills")
    parser.add_argument("--trainings", type=int, default=2000)
    parser.add_argument("--seed", default=str(time.time_ns()))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    chance = random.Random(options.seed)
    each = max(1, min(10, options.rounds // 3))  # kills of a sweep
    bodies = [request(options.trainings, 0.3 + 0.4 * each, 0.5, search) for search in ("random", "tpe", "asha")]
    columns = ["kills", "sweeps", "trainings", "lost", "doubled", "boards that differ"]
    sums = {killed: dict.fromkeys(columns, 0) for killed in KILLED}
    faults, done, turn = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="epochd-sweeps.") as scratch:
        boards = undisturbed(options.build, scratch, bodies)
        print(f"seed {options.seed}\n| killed | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
        while done < options.rounds:
            killed, which = KILLED[turn % 3], turn // 3 % 3
            turn += 1
            disturbed = Disturbed(options, scratch, killed, bodies[which], chance)
            try:
                told, board = disturbed.run(min(each, options.rounds - done), 0.4)
                lost, doubled = len(set(range(1, len(told) + 1)) - set(told)), len(told) - len(set(told))
                differs = board != boards[which]
                for column, count in zip(columns, (disturbed.kills, 1, len(told), lost, doubled, differs)):
                    sums[killed][column] += count
                if lost or doubled or differs:
                    faults.append(f"{killed}: {lost} lost, {doubled} doubled, the leaderboard differs: {differs}")
            except Wrong as wrong:
                faults.append(f"{killed}: {wrong}")
            finally:
                disturbed.daemon.kill()
            done += max(1, disturbed.kills)
        for killed in KILLED:
            print(f"| {killed} | " + " | ".join(str(sums[killed][column]) for column in columns) + " |")
    for fault in faults:
        print("FAILED:", fault)
    total = {column: sum(sums[killed][column] for killed in KILLED) for column in columns}
    kills = total.pop("kills")
    summary(kills, len(faults), **total)
    sys.exit(1 if faults or not kills else 0)


if __name__ == "__main__":
    main()
