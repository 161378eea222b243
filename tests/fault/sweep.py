#!/usr/bin/env python3
"""sweep.py [--all] [--seed N] [--points N] [--step NAME] [--program NAME] [--kind NAME] [--first N] [--once | --lasts]:
each malloc and each call on files of epochd and of epoch-worker fails in turn, in every step of a job's life (life.py),
by itself (open, read, …), or with others as on disks that are full, read-only, broken or slow (FAULTS of faulty.py):
once, and calls on files also from the Nth on until a second later.
Nothing may crash, be lost, be left half done, or be told wrong. Without --all a sample, drawn by the seed, of so many
points. Prints a table of the points, and of each finding the stack of the call; --step and so on repeat a part.

EPOCHD_BUILD is the build folder whose programs are tested (build/test)."""
import argparse
import errno
import os
import random
import signal
import subprocess
import sys
import time

from faulty import FAULTS, Daemon, Disarming, Finding, scratch
from life import STEPS, Life, Read
from summary import summary

LASTS_SECONDS = 1.2
# Faults of what must be read: the job cannot go on.
ENDS_JOBS = ("malloc", "open", "read", "mmap", "stat", "list", "broken")
TRIES_MOST = 20  # draws for a point: most steps have no call of most kinds
UNFIRED_MOST = 2  # steps that ended before their Nth call, in a row: there are no more


class Sweep:
    def __init__(self, build):
        self.build = build
        self.counts = {}    # [step, program, kind] -> points, and findings by their kinds
        self.findings = []
        self.folder = None
        self.fresh()

    def fresh(self):
        """A daemon over a new folder."""
        if self.folder:
            self.daemon.kill()
            self.folder.cleanup()
        self.folder = scratch()
        self.daemon = Daemon(self.build, self.folder.name)
        self.life = Life(self.daemon)
        self.steps = {}
        Read.jobs = {}
        if not self.daemon.start():
            raise SystemExit(f"epochd does not start: {self.daemon.log().decode()}")
        self.life.begin()

    def close(self):
        self.daemon.kill()
        self.folder.cleanup()

    def step(self, kind):
        if kind.name not in self.steps:
            self.steps[kind.name] = kind(self.life)
        return self.steps[kind.name]

    def run(self, kind, program, calls, first, lasts):
        """One step with that call failed; False if there was no such call. first 0: counts the calls."""
        step, daemon, row = self.step(kind), self.daemon, (kind.name, program, calls)
        log_before = 0
        try:
            step.prepare()
            log_before = len(daemon.log())
            # these fail, with the reason, where a file cannot be opened for long
            self.life.may_fail = calls in ENDS_JOBS or (lasts and kind.name in ("start", "sweep") and
                                                        FAULTS[calls].number == errno.EIO)
            daemon.calls.arm(program, FAULTS[calls], first, 1 << 30 if lasts else 1)
            try:
                with Disarming(daemon.calls, LASTS_SECONDS if lasts else 1e6):
                    step.act()
            finally:
                fired = daemon.calls.failures > 0
                daemon.calls.disarm()
            if kind.name not in ("start", "stop") and daemon.process.poll() is not None:
                raise Finding("crash", f"epochd ended with status {daemon.process.returncode}")
            step.settle()
            text = daemon.log()[0 if kind.name in ("start", "stop") else log_before:].decode(errors="replace")
            for word in ("killed by signal 11", "killed by signal 6", "killed by signal 7", "killed by signal 8"):
                if word in text and not daemon.calls.starts_openssl:
                    raise Finding("crash", f"a worker was {word}")
        except Finding as finding:
            daemon.calls.disarm()
            self.count(row, finding.kind)
            self.note(row, first, lasts, finding, log_before)
            self.fresh()
            return True
        if fired:
            self.count(row, "points")
        return fired

    def count(self, row, what):
        counts = self.counts.setdefault(row, dict.fromkeys(("points", "crash", "lost", "half", "wrong"), 0))
        counts[what] += 1
        if what != "points":
            counts["points"] += 1

    def note(self, row, first, lasts, finding, log_before):
        step, program, calls = row
        text = f"{finding.kind}: {step}, {calls} {first} of {program}{' and those after it' if lasts else ''}: {finding}"
        self.findings.append(text)
        print(text, flush=True)
        print("    " + self.daemon.calls.stack.replace("\n", "\n    "), flush=True)
        log = self.daemon.log()[log_before:].decode(errors="replace").splitlines()
        print("  | " + "\n  | ".join(line[:300] for line in log[-6:]), flush=True)

    def all(self, kind, program, calls, lasts, start):
        first = start
        unfired = 0
        while unfired < UNFIRED_MOST:
            unfired = 0 if self.run(kind, program, calls, first, lasts) else unfired + 1
            first += 1

    def calls_of(self, kind, program, calls):
        self.run(kind, program, calls, 0, False)
        return self.daemon.calls.calls

    def points(self):
        return sum(counts["points"] for counts in self.counts.values())

    def sample(self, parts, points, seed):
        chance = random.Random(seed)
        sizes = {}
        for _ in range(TRIES_MOST * points):
            if self.points() >= points:
                return
            kind, program, calls = chance.choice(parts)
            if (kind, program, calls) not in sizes:
                sizes[kind, program, calls] = self.calls_of(kind, program, calls)
            size = sizes[kind, program, calls]
            if size:
                lasts = calls != "malloc" and chance.random() < 0.2
                self.run(kind, program, calls, chance.randint(1, size), lasts)

    def checked(self):
        """After all of it --check finds nothing."""
        status = self.daemon.stop()
        if status != 0:
            self.findings.append(f"epochd ended with status {status} after SIGTERM")
        check = subprocess.run(self.daemon.command("--check"), capture_output=True, text=True)
        if check.returncode != 0:
            self.findings.append(f"--check finds: {check.stdout}")

    def table(self):
        print(f"{'step':26} {'program':13} {'call':10} {'points':>6} {'crashes':>7} {'lost':>5} {'half':>5} {'wrong':>5}")
        total = [0] * 5
        for (step, program, calls), counts in self.counts.items():
            values = list(counts.values())
            total = [a + b for a, b in zip(total, values)]
            print(f"{step:26} {program:13} {calls:10} {values[0]:6} {values[1]:7} {values[2]:5} {values[3]:5} {values[4]:5}")
        print(f"{'all':26} {'':13} {'':10} {total[0]:6} {total[1]:7} {total[2]:5} {total[3]:5} {total[4]:5}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--step")
    parser.add_argument("--program")
    parser.add_argument("--kind", help="names of FAULTS, with commas between")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--lasts", action="store_true", help="only calls that fail until a second later")
    parser.add_argument("--once", action="store_true", help="only calls that fail once")
    words = parser.parse_args()
    build = os.environ.get("EPOCHD_BUILD", os.path.join(os.path.dirname(__file__), "../../build/test"))
    parts = [(step, program, kind) for step in STEPS for program in step.programs for kind in FAULTS
             if words.step in (None, step.name) and words.program in (None, program) and (not words.kind or kind in words.kind.split(","))]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # with the table of what was done
    sweep = Sweep(os.path.abspath(build))
    try:
        if words.all:
            for part in parts:
                if not words.lasts:
                    sweep.all(*part, False, words.first)
                if part[2] != "malloc" and not words.once:
                    sweep.all(*part, True, words.first)
        else:
            print(f"seed {words.seed}")
            sweep.sample(parts, words.points, words.seed)
        if not sweep.points():
            sweep.findings.append("no call failed: nothing was tested")
        sweep.checked()
    finally:
        sweep.table()
        sweep.close()
    print("\n".join(sweep.findings))
    summary(sweep.points(), len(sweep.findings))
    return 1 if sweep.findings else 0


if __name__ == "__main__":
    sys.exit(main())
