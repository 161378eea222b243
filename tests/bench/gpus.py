#!/usr/bin/env python3
"""gpus.py: the measurements of tests/bench/gpus, which says what the parts are."""

import argparse
import json
import os
import sys
import tempfile
import traceback

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
import gpus_tables  # noqa: E402 (NumPy comes with the others, after the number of its threads)
import report  # noqa: E402
from contenders import NotRun  # noqa: E402
from daemon import Failed  # noqa: E402
from gpus_jobs import Bench  # noqa: E402
from gpus_ranks import data, ddp, model  # noqa: E402
from gpus_sweep import kills, sweep  # noqa: E402

PARTS = {"data": data, "model": model, "sweep": sweep, "ddp": ddp, "kills": kills}  # those that end the daemon last
LEAST_SECONDS = 20  # that a part begins with
SECONDS = 560  # of all: a command that may run for ten minutes ends by itself


def kept(path, gpu):
    """The parts that the file has of the same GPUs: others are no rows of one table."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        earlier = json.load(file)
    return earlier.get("rows", {}) if earlier.get("gpu") == gpu else {}


def show(name, row):
    if "not_run" in row:
        print(f"\n{name}: not run: {row['not_run']}")
        return
    print(f"\n{name}, {row['seconds_taken']:.0f} s" + (f": WRONG: {row['wrong']}" if row["wrong"] else ""))
    for part, table in gpus_tables.TABLES.values():
        if part == name and not row["wrong"]:
            report.table(*table(row))
    for entry in row["wanted"]:
        print(f"  {entry['what']}: wanted {entry['wanted']:.4g}, reached {entry['reached']:.4g}" +
              (" (short)" if not entry["met"] else ""))


def measured(bench, name):
    """The part's row; what could not be run has the reason."""
    if bench.left() < LEAST_SECONDS:
        return {"not_run": f"the time was over: tests/bench/gpus --part {name}"}
    before = bench.left()
    try:
        row = PARTS[name](bench)
    except (NotRun, Failed) as reason:
        row = {"not_run": str(reason)}
    except Exception as error:  # one part's failure must not take the others' time on the GPUs
        traceback.print_exc()
        bench.drop()
        row = {"not_run": f"{type(error).__name__}: {error}"}
    row["seconds_taken"] = before - bench.left()
    return row


def main():
    parser = argparse.ArgumentParser(description="several GPUs; see tests/bench/gpus")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--stripped")
    parser.add_argument("--json", required=True)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plugin")
    parser.add_argument("--ddp-device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    machine = report.machine()
    out = dict(machine, rows={} if options.smoke else kept(options.json, machine["gpu"]), smoke=options.smoke)
    right = True
    with tempfile.TemporaryDirectory(prefix="epochd-gpus.") as folder:
        bench = Bench(options, folder)
        bench.look()
        print(f"{bench.count} GPUs, {bench.left():.0f} s", flush=True)
        try:
            for name in options.part or PARTS:
                print(f"  {name} …", flush=True)
                row = dict(measured(bench, name), commit=out["commit"], date=out["date"], count=bench.count)
                if "not_run" not in row or name not in out["rows"]:
                    out["rows"][name] = row
                out["versions"] = {name: row["version"] for name, row in out["rows"].items() if "version" in row}
                report.write(out, options.json)
                show(name, row)
                right = right and not row.get("wrong") and "not_run" not in row
        finally:
            bench.rest()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
