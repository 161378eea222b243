#!/usr/bin/env python3
"""kills.py BUILD: kill -9 of the daemon, of its workers, or of all, at moments of chance, while clients use it.

After some kills all that the clients were answered must be there (checks.py), and a new data folder
begins. Prints a table: the last line of each kind has its sums. Ends with 1 if anything was lost or
wrong.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time

from checks import Counts, data_check, look, lost_check
from clients import Clients, Daemon, Http, Notes, Specs, Wrong
from summary import summary

KILLED = ["daemon", "worker", "both"]
COLUMNS = ["kills", "accepted", "lost", "events seen", "events lost", "events doubled", "datasets", "wrong"]


def workers(daemon):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as command:
                is_worker = "epoch-worker" in command.read()
        except OSError:
            continue  # it ended meanwhile
        if parent == daemon.process.pid and is_worker:
            found.append(int(entry))
    return found


def kill(processes):
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended by itself


def logged(http, job):
    """The last epoch that the job's log has; 0 where there is none, or the job is deleted."""
    lines = http.ask("GET", f"/v1/jobs/{job}/events?follow=0")[1].splitlines()
    return max((event.get("epoch", 0) for event in map(json.loads, lines) if event.get("type") == "epoch"), default=0)


def jobs(http, state):
    return json.loads(http.must(200, "GET", f"/v1/jobs?state={state}&limit=1000"))["data"]


def note(http, reached):
    """How far each job has come. A job that starts again shows the epoch of its checkpoint, which is less."""
    for job in jobs(http, "queued") + jobs(http, "running"):
        epoch = max(job["progress"]["epoch"], logged(http, job["id"]))
        reached[job["id"]] = max(reached.get(job["id"], 0), epoch)


def advanced(http, reached):
    """Waits until each running job is further than it ever was: one that three deaths in a row keep where it is
    fails, and is to."""
    note(http, reached)
    while not all(logged(http, job["id"]) > reached.get(job["id"], 0) for job in jobs(http, "running")):
        time.sleep(0.005)


class Folder:
    """A data folder, from its first daemon to what is looked at."""

    def __init__(self, options, specs, killed, scratch, counts, chance):
        self.options, self.specs, self.killed, self.counts, self.chance = options, specs, killed, counts, chance
        self.data, self.log, self.notes = scratch + "/data", scratch + "/epochd.log", Notes()
        shutil.rmtree(self.data, ignore_errors=True)

    def run(self, kills):
        while kills > 0:
            kills -= self.life(kills)
        daemon = Daemon(self.options.build, self.data, self.log)
        try:
            look(daemon.port, self.specs, self.notes.until(0), self.counts)
            daemon.stop()
            data_check(self.options.build, self.data)
            lost_check(self.data)
        finally:
            daemon.kill()

    def life(self, most):
        """Of a daemon, until it is killed; returns the kills. A life of worker kills ends with SIGTERM."""
        daemon = Daemon(self.options.build, self.data, self.log)
        clients = Clients(daemon.port, self.specs, self.notes, self.chance.random())
        kills = 1 if self.killed != "worker" else min(most, 8)
        self.counts["kills"] += kills
        reached = {}
        for _ in range(kills):
            time.sleep(self.chance.uniform(0.05, 0.4))
            if self.killed == "worker":
                advanced(Http(daemon.port), reached)
            if self.killed != "daemon":
                kill(workers(daemon))
            if self.killed != "worker":
                kill([daemon.process.pid])
            else:
                note(Http(daemon.port), reached)
        clients.end()
        if self.killed == "worker":
            daemon.stop()
        else:
            daemon.process.wait()
        clients.join()
        return kills


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=6, help="kills")
    parser.add_argument("--folder", type=int, default=40, help="kills before all is looked at")
    parser.add_argument("--seed", default=str(time.time_ns()))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    counts = {killed: Counts() for killed in KILLED}
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="epochd-kills.") as scratch:
        specs = Specs.undisturbed(options.build, scratch)
        left, turn = options.rounds, 0
        print(f"seed {options.seed}\n| killed | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|")
        while left > 0:
            killed, kills = KILLED[turn % len(KILLED)], min(left, max(1, min(options.folder, options.rounds // 3)))
            before = len(counts[killed].faults)
            try:
                Folder(options, specs, killed, scratch, counts[killed], chance).run(kills)
            except Wrong as wrong:
                counts[killed].fault("wrong", str(wrong))
            for fault in counts[killed].faults[before:]:
                print(f"  {killed}: {fault}", flush=True)
            print(f"| {killed} | " + " | ".join(str(counts[killed][column]) for column in COLUMNS) + " |", flush=True)
            left, turn = left - kills, turn + 1
    faults = sum(len(each.faults) for each in counts.values())
    total = {column: sum(each[column] for each in counts.values()) for column in COLUMNS}
    summary(total.pop("kills"), faults, **total)
    sys.exit(1 if faults or not total["accepted"] else 0)


if __name__ == "__main__":
    main()
