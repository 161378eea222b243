#!/usr/bin/env python3
"""many_jobs.py PREFIX [--jobs N] [--recent N]: how long a daemon with N jobs in its store takes to start, and to answer.

PREFIX/bin holds epochd. The newest jobs, those that the pages show, are trained; the older ones are copies of a row,
written to the store while no daemon runs: they have neither folders nor checksums.
"""

import argparse
import os
import sqlite3
import tempfile
import time

from daemon import Daemon

DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
JOB = {"data": {"generator": "xor"}, "model": {"layers": [{"type": "linear", "out_features": 1}]},
       "loss": "bce_with_logits", "optimizer": {"type": "sgd", "lr": 0.5}, "epochs": 1, "device": "cpu", "tags": ["a"]}
PATHS = ["/v1/jobs", "/v1/jobs?view=summary", "/v1/jobs?view=summary&limit=1000",
         "/v1/jobs?state=succeeded&view=summary", "/v1/jobs?tag=a&view=summary"]
ASKED = 300  # times, each path


def old_id(number):
    """An id older than any that a clock of today makes."""
    text, value = "", number << 40
    for _ in range(25):
        text, value = DIGITS[value % 32] + text, value // 32
    return "job_0" + text


def start(folder, prefix):
    begun = time.perf_counter()
    daemon = Daemon(prefix, folder=folder)
    return daemon, time.perf_counter() - begun


def train(daemon, count):
    for seed in range(count):
        daemon.stream({**JOB, "seed": seed})


def copy_rows(path, count):
    """Copies of the one job that there is."""
    store = sqlite3.connect(path)
    store.row_factory = sqlite3.Row
    store.execute("PRAGMA synchronous = OFF")
    row = dict(store.execute("SELECT * FROM jobs").fetchone())
    row.update(row_sum=None, spec_sum=None)
    columns = list(row)

    def rows():
        for number in range(1, count + 1):
            row["id"] = old_id(number)
            yield [row[column] for column in columns]
    store.executemany(f"INSERT INTO jobs ({','.join(columns)}) VALUES ({','.join('?' * len(columns))})", rows())
    store.commit()
    store.close()


def seconds_of(daemon, path):
    seconds = []
    for _ in range(ASKED):
        begun = time.perf_counter()
        answer = daemon.request("GET", path)
        seconds.append(time.perf_counter() - begun)
        assert answer["data"], path
    return sorted(seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prefix")
    parser.add_argument("--jobs", type=int, default=1000000)
    parser.add_argument("--recent", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="epochd-bench.") as folder:
        daemon, _ = start(folder, options.prefix)
        train(daemon, 1)
        daemon.stop()
        copy_rows(os.path.join(folder, "data", "epochd.sqlite"), options.jobs - options.recent)
        daemon, _ = start(folder, options.prefix)
        train(daemon, options.recent - 1)
        daemon.stop()
        starts = []
        for _ in range(5):
            daemon, seconds = start(folder, options.prefix)
            starts.append(seconds)
            if len(starts) < 5:
                daemon.stop()
        print(f"{options.jobs} jobs: start {1e3 * min(starts):.0f} to {1e3 * max(starts):.0f} ms")
        for path in PATHS:
            seconds = seconds_of(daemon, path)
            print(f"  {path}: p50 {1e3 * seconds[ASKED // 2]:.1f} ms, p99 {1e3 * seconds[ASKED * 99 // 100]:.1f} ms")
        daemon.stop()


if __name__ == "__main__":
    main()
