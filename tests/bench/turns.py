#!/usr/bin/env python3
"""turns.py BEFORE AFTER [cpu|cuda] [ROW…]: two builds by turns; see tests/bench/turns."""

import argparse
import json
import statistics
import types

import bench
import workloads
from contenders import NotRun, Ours
from daemon import Failed

NAMES = ("before", "after")


def compare(row, benches, rounds):
    """A row's seconds of training by both builds: {"before": [...], "after": [...]}, and what ran it."""
    contenders = []
    for each in benches:
        daemon = each.daemon(row.one_core)
        contenders.append(Ours(daemon, row, *each.upload(daemon, row)))
    seconds, losses = {name: [] for name in NAMES}, {}
    for who in contenders:
        who.warm()
    for turn in range(rounds):
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            result = contenders[i].run()
            seconds[NAMES[i]].append(result.seconds)
            losses[NAMES[i]] = result.answer["train_loss"]
    return seconds, [who.executor for who in contenders], losses


def main():
    parser = argparse.ArgumentParser(description="two builds by turns; see tests/bench/turns")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*", metavar="cpu|cuda|ROW")
    options = parser.parse_intermixed_args()
    kinds = [name for name in options.names if name in ("cpu", "cuda")] or ["cuda"]
    names = [name for name in options.names if name not in ("cpu", "cuda")]
    out = []
    for kind in kinds:
        rows = [row for row in workloads.ROWS if kind in row.runs and (not names or row.name in names)]
        benches = [bench.Bench(types.SimpleNamespace(prefix=prefix), kind, rows)
                   for prefix in (options.before, options.after)]
        try:
            for row in rows:
                try:
                    for each in benches:
                        each.data_of(row)
                    seconds, executors, losses = compare(row, benches, options.rounds)
                except (NotRun, Failed, workloads.Missing) as reason:
                    print(f"{row.name:24} not run: {reason}", flush=True)
                    continue
                medians = [statistics.median(seconds[name]) for name in NAMES]
                same = "same loss" if losses["before"] == losses["after"] else f"losses {losses}"
                out.append({"name": row.name, "kind": kind, "executors": executors, "seconds": seconds,
                            "ratio": medians[1] / medians[0]})
                print(f"{row.name:24} {executors[0]:14} {executors[1]:14} {medians[0] * 1e3:10.3f} ms "
                      f"{medians[1] * 1e3:10.3f} ms  {medians[1] / medians[0]:.4f}  {same}", flush=True)
        finally:
            for each in benches:
                each.close()
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(out, file, indent=1)


if __name__ == "__main__":
    main()
