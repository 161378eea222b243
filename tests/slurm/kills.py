#!/usr/bin/env python3
"""kills.py BUILD CLUSTER SLURM: kill -9 of a worker, a relay, the gateway, epochd, a slurmd or slurmctld, at moments of
chance, while jobs train on the nodes of the Slurm in the folder SLURM, which CLUSTER has started.

Each that Slurm or the test's user would start again is started again a moment later; epochd is now and then away for
longer than its workers wait. At the end each job must have
ended once, with the weights of the same job on the local CPU, an event log without a gap, and each epoch once in it.
Prints a table. Ends with 1 if anything was lost or wrong.
"""

import argparse
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
# pylint: disable=wrong-import-position
from clients import Daemon, ENDED, Http, Wrong, XOR

VICTIMS = ["worker", "relay", "gateway", "epochd", "n1", "n2", "slurmctld"]  # n1, n2: the slurmd of that node
OF_SLURM = ["n1", "n2", "slurmctld"]
AT_ONCE = 3      # jobs
REPORTS = 50     # epochs in the log of each
SECONDS = 1.5    # of a processor, each job
PATIENCE = 5     # seconds that workers wait for epochd


class Slurmed(Daemon):
    FLAGS = ["--devices", "cpu,slurm:cpu", "--checkpoint-after", "0", "--crashes-max", "0",
             "--slurm-reconnect-seconds", str(PATIENCE), "--slurm-idle-seconds", "30"]


def processes(*words):
    """Those with all these words in their command: (process, its parent)."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command = file.read().decode(errors="replace").split("\0")
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if all(any(word in part for part in command) for word in words):
            found.append((int(entry), parent))
    return found


def epochs_of(http, job):
    lines = http.must(200, "GET", f"/v1/jobs/{job}/events").decode().splitlines()
    events = [json.loads(line) for line in lines]
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        raise Wrong(f"{job}: an event is missing or doubled")
    if sum(event["type"] == "end" for event in events) != 1:
        raise Wrong(f"{job}: not one end")
    return [(event["epoch"], event["loss"]) for event in events if event["type"] == "epoch"]


class Campaign:
    def __init__(self, options, scratch, chance):
        self.options, self.chance, self.scratch = options, chance, scratch
        self.shared, self.data, self.log = scratch + "/shared", scratch + "/data", scratch + "/epochd.log"
        self.listen, self.daemon, self.http = "127.0.0.1:0", None, None
        self.right, self.jobs, self.kills, self.at_work = {}, {}, collections.Counter(), 0
        self.handed_over = self.resumed = 0
        os.mkdir(self.shared)
        self.start()
        found = None
        while not found:
            time.sleep(0.02)
            with open(self.log, encoding="utf-8") as text:
                found = re.search(r"workers of Slurm connect to ([0-9.:]+)", text.read())
        self.listen = found.group(1)

    def start(self):
        self.daemon = Slurmed(self.options.build, self.data, self.log,
                              flags=["--shared-dir", self.shared, "--slurm-listen", self.listen])
        self.http = Http(self.daemon.port)

    def log_count(self):
        """A daemon's log is its own."""
        with open(self.log, encoding="utf-8", errors="replace") as text:
            self.handed_over += text.read().count("resumed from the state of its last attempt")

    def nodes_resume(self):
        """As an administrator does: Slurm drains a node whose slurmd had a job that slurmctld starts again."""
        drained = subprocess.run(["sinfo", "--noheader", "--Node", "--states", "drained,drain", "--format", "%N"],
                                 check=False, capture_output=True, text=True).stdout.split()
        for node in set(drained):
            done = subprocess.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], check=False, stderr=subprocess.DEVNULL)
            self.resumed += done.returncode == 0

    def submit(self, spec):
        return json.loads(self.http.must(201, "POST", "/v1/jobs", spec))["id"]

    def ended(self, job, seconds=300):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            state = json.loads(self.http.must(200, "GET", f"/v1/jobs/{job}?wait=5"))
            if state["status"] in ENDED:
                return state
            self.nodes_resume()
        raise Wrong(f"{job} has not ended in {seconds} s: {state['status']}, {state.get('queue_reason')}")

    def outcome(self, job):
        return self.http.tensors(job), epochs_of(self.http, job)

    def undisturbed(self):
        measured = self.ended(self.submit(dict(XOR, epochs=50000, report_every=50000)))
        every = max(100, int(SECONDS * 1e6 / REPORTS / measured["timing"]["epoch_microseconds"]))
        self.specs = [dict(XOR, seed=seed, epochs=REPORTS * every, report_every=every,
                           checkpoint={"every_seconds": 0.2, "keep": 2}) for seed in range(3)]
        for seed, spec in enumerate(self.specs):
            job = self.submit(spec)
            if self.ended(job)["status"] != "succeeded":
                raise Wrong("an undisturbed job failed")
            self.right[seed] = self.outcome(job)

    def refill(self):
        """Jobs, so that some run; returns how far those have come that do."""
        states = [self.http.job(job) for job in list(self.jobs)[-2 * AT_ONCE:]]
        for _ in range(AT_ONCE - sum(state["status"] not in ENDED for state in states)):
            seed = self.chance.randrange(len(self.specs))
            self.jobs[self.submit(dict(self.specs[seed], device="slurm:cpu"))] = seed
        return {state["id"]: state["progress"]["epoch"] for state in states if state["status"] == "running"}

    def advanced(self):
        """Waits until a job that runs comes further: True. Not always, as what waits is to be hit too."""
        before, until = self.refill(), time.monotonic() + self.chance.choice([0, 20, 20, 20])
        while time.monotonic() < until:
            now = self.refill()
            if any(epoch > before.get(job, 0) for job, epoch in now.items()):
                return True
            time.sleep(0.05)
        self.nodes_resume()
        return False

    def find(self, victim):
        if victim == "epochd":
            return [self.daemon.process.pid]
        if victim in OF_SLURM:
            with open(f"{self.options.slurm}/{victim}.pid", encoding="utf-8") as file:
                return [int(file.read())]
        if victim == "gateway":
            return [each for each, parent in processes("--slurm-gateway") if parent == self.daemon.process.pid]
        relays = [each for each, _ in processes("--connect", self.shared)]
        if victim == "relay":
            return relays
        return [each for each, parent in processes("--socket", "--data-dir") if parent in relays]

    def kill(self, trains):
        """One of them, at once or after a while, or none where there is none of its kind."""
        victim = self.chance.choice(VICTIMS)
        time.sleep(self.chance.uniform(0, 0.8))
        found = self.find(victim)
        if not found:
            return
        try:
            os.kill(self.chance.choice(found), signal.SIGKILL)
        except ProcessLookupError:
            return # it has ended by itself
        self.kills[victim] += 1
        self.at_work += trains
        if victim in OF_SLURM + ["epochd"]:
            time.sleep(self.chance.choice([0, self.chance.uniform(0, 1)]))
        if victim == "epochd":
            self.daemon.process.wait()
            self.log_count()
            if self.chance.random() < 0.5:
                time.sleep(PATIENCE + self.chance.uniform(0, 3))
            self.start()
        elif victim in OF_SLURM:
            subprocess.run([self.options.cluster, "daemon", self.options.slurm, victim], check=True)

    def run(self):
        self.undisturbed()
        while sum(self.kills.values()) < self.options.rounds:
            self.kill(self.advanced())
        faults = []
        attempts = 0
        for job, seed in self.jobs.items():
            try:
                state = self.ended(job)
                attempts += state["attempt"] - 1
                if state["status"] != "succeeded":
                    raise Wrong(f"{job} {state['status']}: {state['error']}")
                weights, epochs = self.outcome(job)
                if epochs != self.right[seed][1]:
                    raise Wrong(f"{job}: other epochs: {[epoch for epoch, _ in epochs]}")
                if weights != self.right[seed][0]:
                    raise Wrong(f"{job}: other weights")
            except Wrong as wrong:
                faults.append(str(wrong))
        known = {row["id"] for row in json.loads(self.http.must(200, "GET", "/v1/jobs?limit=1000"))["data"]}
        known &= set(self.jobs)
        if len(known) != len(self.jobs):
            faults.append(f"{len(self.jobs) - len(known)} jobs are not listed")
        self.log_count()
        print(f"| {' | '.join(VICTIMS)} | kills | while a job trained | jobs | taken up again | handed over | wrong |\n"
              f"{'|---' * (len(VICTIMS) + 6)}|")
        print(f"| {' | '.join(str(self.kills[each]) for each in VICTIMS)} | {sum(self.kills.values())} | {self.at_work} | "
              f"{len(self.jobs)} | {attempts} | {self.handed_over} | {len(faults)} |\n"
              f"nodes that Slurm had drained and that were resumed: {self.resumed}", flush=True)
        for fault in faults:
            print(" ", fault)
        return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("cluster")
    parser.add_argument("slurm")
    parser.add_argument("--rounds", type=int, default=8, help="kills")
    parser.add_argument("--seed", default=str(time.time_ns()))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="epochd-slurm-kills.") as scratch:
        campaign, right = None, False
        try:
            campaign = Campaign(options, scratch, random.Random(options.seed))
            right = campaign.run()
            campaign.daemon.stop()
        except Wrong as wrong:
            print(" ", wrong)
        finally:
            if campaign:
                campaign.daemon.kill()
                if not right:
                    print(campaign.daemon.log_end())
    if not right:
        sys.exit(1)


if __name__ == "__main__":
    main()
