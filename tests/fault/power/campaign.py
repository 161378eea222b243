#!/usr/bin/env python3
"""campaign.py BUILD KIND: power failures while clients use an epochd.

KIND is ext4, xfs or btrfs, on a disk that drops what was not flushed, or model: the folders that
POSIX allows after a power failure. Clients use a daemon for some seconds, on a disk that writes
down what it is told. Of that, disks are made as of moments of chance, without power at that moment.
The daemon must start on each, and have all that the clients were answered. In some recordings it is
killed, and started again, before the power fails. Each recording goes on from a disk of the one
before. Prints a table; ends with 1 if anything was lost or wrong, with 77 where the system has not
what it takes.
"""

import argparse
import ctypes
import fcntl
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from checks import Counts, data_check, glance, look, lost_check, swept_wait  # noqa: E402
from clients import PATIENCE_S, Clients, Daemon, Notes, Specs, Wrong  # noqa: E402
from summary import summary  # noqa: E402
from disks import BlockTrace, FileTrace  # noqa: E402

IMAGE_BYTES = 1 << 30
MAKE = {"ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
        "xfs": ["mkfs.xfs", "-q", "-f"], "btrfs": ["mkfs.btrfs", "-q", "-f"]}
ANSWERS = {"submits": "accepted", "deletes": "deleted", "dataset uploads": "dataset uploaded",
           "dataset deletes": "dataset deleted", "cancels": "cancelled"}
COLUMNS = ["failures", "not started", "accepted", "lost", "events seen", "events lost", "events doubled",
           "datasets", "wrong"]


def command(*words, must=True):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if must and done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def unmount(folder):
    """Waits for what was killed and has not ended yet."""
    until = time.monotonic() + PATIENCE_S
    while os.path.ismount(folder):
        try:
            command("umount", folder)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


class Model:
    """The model: a folder whose changes are recorded by recorder.c."""

    def __init__(self, build, scratch):
        self.data, self.made, self.path = scratch + "/data", scratch + "/made", scratch + "/trace"
        self.environment = {"LD_PRELOAD": build + "/tests/fault/librecorder.so", "EPOCHD_TEST_ROOT": self.data,
                            "EPOCHD_TEST_TRACE": self.path}
        os.mkdir(self.data)
        self.trace = None

    def begin(self, chance):
        """Syncs take no time, or some; or those of the store alone take long, and all else overtakes them."""
        names, most_us = chance.choice([("", 0), ("", 20000), ("-wal", 100000)])
        self.environment.update({"EPOCHD_TEST_SYNC": names, "EPOCHD_TEST_SYNC_US": str(most_us)})
        with open(self.path, "wb"):
            pass
        if self.trace:
            self.trace.close()
        self.trace = FileTrace(self.path, os.stat(self.data).st_ino, self.data)
        return self.data

    def kill(self, daemon):
        """Between two records: what was done is written down."""
        with open(self.path, "rb") as trace:
            fcntl.flock(trace, fcntl.LOCK_EX)
            daemon.kill()

    def fail(self):
        """All processes are dead: that is all."""

    def make(self, moment, seed):
        self.trace.read_until(moment)
        self.trace.disk_make(seed, self.made)
        return self.made

    def drop(self):
        """Nothing is mounted."""

    def go_on(self, seed):
        """The next recording begins with the disk of this seed."""
        self.trace.disk_make(seed, self.data)


class Device:
    """A file system on a disk of device.c, or on one that was made of its trace."""

    def __init__(self, kind, build, scratch):
        self.kind, self.plugin = kind, build + "/tests/fault/libdevice.so"
        self.base, self.work, self.next = (f"{scratch}/{name}.img" for name in ("base", "work", "next"))
        self.path, self.fuse, self.folder = scratch + "/trace", scratch + "/fuse", scratch + "/mount"
        self.loop = self.server = self.trace = None
        os.mkdir(self.fuse)
        os.mkdir(self.folder)
        with open(self.base, "wb") as image:
            image.truncate(IMAGE_BYTES)
        command(*MAKE[kind], self.base)

    def mount(self, image):
        self.loop = command("losetup", "-f", "--show", image)
        if self.kind == "btrfs":
            command("btrfs", "device", "scan", "--forget", must=False)
        command("mount", "-t", self.kind, self.loop, self.folder)
        return self.folder + "/data"

    def drop(self):
        if self.loop:
            unmount(self.folder)
            command("losetup", "-d", self.loop)
        self.loop = None

    def begin(self, _):
        command("cp", "--sparse=always", self.base, self.work)
        self.server = subprocess.Popen(
            ["nbdfuse", self.fuse + "/disk", "--command", "nbdkit", "-s", self.plugin, "image=" + self.work,
             "trace=" + self.path], stderr=subprocess.DEVNULL)
        while not os.path.exists(self.fuse + "/disk"):
            if self.server.poll() is not None:
                raise OSError("nbdfuse ended")
            time.sleep(0.01)
        if self.trace:
            self.trace.close()
        self.trace = BlockTrace(self.path, self.base)
        return self.mount(self.fuse + "/disk")

    def kill(self, daemon):
        daemon.kill()

    def fail(self):
        self.drop()
        if self.server:
            unmount(self.fuse)
            self.server.wait()
        self.server = None

    def make(self, moment, seed):
        self.trace.read_until(moment)
        self.trace.disk_make(seed, self.next)
        return self.mount(self.next)

    def go_on(self, seed):
        self.trace.disk_make(seed, self.next)
        os.rename(self.next, self.base)


def stir(folder, stop, seed):
    """Has the system write pages at moments of chance, in its order, without a flush; seldom with one."""
    chance, libc = random.Random(seed), ctypes.CDLL(None)
    while not stop.wait(chance.random() * 0.02):
        try:
            paths = [os.path.join(above, name) for above, _, names in os.walk(folder) for name in names]
            file = os.open(chance.choice(paths), os.O_RDONLY) if paths else -1
        except OSError:
            continue
        if file >= 0:
            if chance.random() < 0.02:
                libc.syncfs(file)
            else:
                libc.sync_file_range(file, ctypes.c_int64(0), ctypes.c_int64(0), 2)  # SYNC_FILE_RANGE_WRITE
            os.close(file)


def moments_choose(chance, notes, end, count):
    """Of `count` failures, in order: at an answer, between a request and its answer, after a start, or anywhere."""
    started = [note.moment for note in notes if note.moment > 0 and note.kind == "seen"]
    answered, asked = [note.moment for note in notes if note.moment > 0], []
    for i, note in enumerate(notes):
        answer = ANSWERS.get(note.kind)
        after = next((other.moment for other in notes[i:] if other.kind == answer), end)
        if answer and note.moment > 0:
            asked.append((note.moment, after))
    moments = []
    for _ in range(count):
        kind = chance.choice(["answer", "request", "request", "start", "any"])
        if kind == "start" and started:
            moments.append(chance.choice(started))
        elif kind == "answer" and answered:
            moments.append(chance.choice(answered))
        elif kind == "request" and asked:
            moments.append(chance.randint(*chance.choice(asked)))
        else:
            moments.append(chance.randrange(end))
    return sorted(moments)


class Campaign:
    def __init__(self, options, scratch):
        self.options, self.scratch, self.counts = options, scratch, Counts()
        self.disk = Model(options.build, scratch) if options.kind == "model" else \
            Device(options.kind, options.build, scratch)
        self.log = scratch + "/epochd.log"

    def run(self):
        specs, known, number = Specs.undisturbed(self.options.build, self.scratch), [], 0
        while self.counts["failures"] < self.options.failures:
            known = self.recording(specs, known, f"{self.options.seed} {number}")
            number += 1
            print(self.line(), flush=True)

    def recording(self, specs, known, seed):
        chance, stop = random.Random(seed), threading.Event()
        data = self.disk.begin(chance)
        notes, daemon = Notes(self.disk.path, known), None
        stirrer = threading.Thread(target=stir, args=(data, stop, seed))
        short, starts = self.options.short or chance.random() < 0.3, chance.choice([1, 1, 3])
        try:
            stirrer.start()
            for start in range(starts):
                daemon = Daemon(self.options.build, data, self.log, getattr(self.disk, "environment", None))
                clients = Clients(daemon.port, specs, notes, f"{seed} {start}", short, see=start > 0)
                time.sleep(self.options.seconds * (0.5 + chance.random()) / starts)
                clients.end()
                self.disk.kill(daemon)
                end = os.stat(self.disk.path).st_size
                clients.join()
        finally:
            stop.set()
            if daemon:
                daemon.kill()
            if stirrer.is_alive():
                stirrer.join()
            self.disk.fail()
        count = min(self.options.disks, self.options.failures - self.counts["failures"])
        moments = moments_choose(chance, notes.until(end), end, count)
        for i, moment in enumerate(moments):
            self.look_at(specs, notes.until(moment), moment, f"{seed} {i}")
        self.disk.go_on(f"{seed} {len(moments) - 1}")
        return notes.until(moments[-1], begins=True)

    def look_at(self, specs, notes, moment, seed):
        before = len(self.counts.faults)
        self.counts["failures"] += 1
        data, daemon = self.disk.make(moment, seed), None
        try:
            daemon = Daemon(self.options.build, data, self.log)
        except Wrong as wrong:
            self.counts.fault("not started", str(wrong))
        try:
            if daemon:
                (glance if self.options.glance else look)(daemon.port, specs, notes, self.counts)
                swept_wait(daemon.port, data)
                daemon.stop()
                lost_check(data)
                if not self.options.glance:  # else nobody has read the logs, which completes them
                    data_check(self.options.build, data)
        except Wrong as wrong:
            self.counts.fault("wrong", str(wrong))
        finally:
            if daemon:
                daemon.kill()
            self.disk.drop()
            for fault in self.counts.faults[before:]:
                print(f"  seed \"{seed}\", moment {moment}: {fault}", flush=True)
            if len(self.counts.faults) > before and self.options.keep:
                self.keep(data, moment, seed)

    def keep(self, data, moment, seed):
        """A copy of the disk as it was made, and of the log."""
        kept = os.path.join(self.options.keep, f"{self.options.kind}-{seed.replace(' ', '-')}")
        shutil.rmtree(kept, ignore_errors=True)
        os.makedirs(kept)
        shutil.copy(self.log, kept)
        shutil.copytree(self.disk.make(moment, seed), kept + "/data")
        self.disk.drop()

    def line(self):
        return f"| {self.options.kind} | " + " | ".join(str(self.counts[column]) for column in COLUMNS) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("kind", choices=["model", *MAKE])
    parser.add_argument("--failures", type=int, default=200)
    parser.add_argument("--disks", type=int, default=10, help="of a recording")
    parser.add_argument("--seconds", type=float, default=3, help="that a recording takes, on average")
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--scratch", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    parser.add_argument("--glance", action="store_true", help="looks at what is there, and ends no job: faster")
    parser.add_argument("--short", action="store_true", help="only jobs that begin at once and end at once")
    parser.add_argument("--keep", help="a folder for disks that something was wrong with")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    needed = [] if options.kind == "model" else ["nbdkit", "nbdfuse", "losetup", MAKE[options.kind][0]]
    for program in needed:
        if not shutil.which(program):
            print(f"skipped: there is no {program}")
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="epochd-power.", dir=options.scratch) as scratch:
        print(f"seed {options.seed}\n| disk | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|")
        campaign = Campaign(options, scratch)
        campaign.run()
    total = {column: campaign.counts[column] for column in COLUMNS}
    summary(total.pop("failures"), len(campaign.counts.faults), **total)
    if campaign.counts.faults or total["accepted"] == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
