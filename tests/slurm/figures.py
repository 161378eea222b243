#!/usr/bin/env python3
"""figures.py URL: measures an epochd that has the devices cpu and slurm:cpu, a partition of two nodes (figures)."""

import argparse
import json
import os
import statistics
import sys
import time
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
# pylint: disable=wrong-import-position
from clients import ENDED, Http, Wrong, XOR

HERE, THERE = "cpu", "slurm:cpu"
STARTS = int(os.environ.get("EPOCHD_FIGURES_STARTS", "100"))
TRIAL_SECONDS = 0.05


def submitted(http, spec, kind="jobs"):
    return json.loads(http.must(201, "POST", f"/v1/{kind}", spec))["id"]


def ended(http, identity, kind="jobs"):
    while (found := json.loads(http.must(200, "GET", f"/v1/{kind}/{identity}?wait=30")))["status"] not in ENDED:
        pass
    if found["status"] != "succeeded":
        raise Wrong(f"{identity} {found['status']}: {found['error']}")
    return found


def first_epoch(port, http, device):
    """Milliseconds, as a client sees them: the watching connection is open before."""
    spec = dict(XOR, device=device, epochs=100)
    begin = time.monotonic()
    job = submitted(http, spec)
    watching = Http(port).connection
    watching.request("GET", f"/v1/jobs/{job}/events", headers={"Accept": "application/x-ndjson"})
    response = watching.getresponse()
    while json.loads(response.readline())["type"] != "epoch":
        pass
    took = (time.monotonic() - begin) * 1000
    watching.close()
    ended(http, job)
    return took


def starts(port, http):
    for device in (HERE, THERE):
        ended(http, submitted(http, dict(XOR, device=device, epochs=10)))
    taken = {HERE: [], THERE: []}
    for _ in range(STARTS):  # in turn, so that the machine's load is that of both
        for device, each in taken.items():
            each.append(first_epoch(port, http, device))
    print(f"from POST to the first epoch, ms, of {STARTS} jobs each\n| device | median | 90 % below |\n|---|---|---|")
    for device, each in taken.items():
        print(f"| {device} | {statistics.median(each):.1f} | {statistics.quantiles(each, n=10)[-1]:.1f} |")
    print(f"more on {THERE}: {statistics.median(taken[THERE]) - statistics.median(taken[HERE]):.1f} (median)\n", flush=True)


def sweep(http, trials, workers, epochs, device=THERE):
    """Seconds of a sweep of so many trials on so many workers, and its trials without their times."""
    spec = {"search": "random", "max_trials": trials, "workers": workers, "metric": "train.loss",
            "space": {"/optimizer/lr": {"log_uniform": [0.1, 1]}},
            "job": dict(XOR, device=device, epochs=epochs, report_every=epochs)}
    begin = time.monotonic()
    identity = submitted(http, spec, "sweeps")
    ended(http, identity, "sweeps")
    seconds, rows, offset = time.monotonic() - begin, [], 0
    while offset is not None:
        page = json.loads(http.must(200, "GET", f"/v1/sweeps/{identity}/trials?sort=trial&limit=1000&offset={offset}"))
        rows += [{key: value for key, value in row.items() if key != "train_seconds"} for row in page["data"]]
        offset = page["next"]
    return seconds, rows


def two_workers(http):
    """Two jobs at once bring them."""
    running = [submitted(http, dict(XOR, device=THERE, epochs=10**9, report_every=10**6)) for _ in range(2)]
    while any(json.loads(http.must(200, "GET", f"/v1/jobs/{each}"))["progress"]["epoch"] == 0 for each in running):
        time.sleep(0.1)
    for each in running:
        http.must(200, "POST", f"/v1/jobs/{each}/cancel")
        while json.loads(http.must(200, "GET", f"/v1/jobs/{each}?wait=30"))["status"] not in ENDED:
            pass


def nodes(http, trials):
    measured = [ended(http, submitted(http, dict(XOR, device=HERE, epochs=100000, report_every=100000)))
                ["timing"]["epoch_microseconds"] for _ in range(3)]
    epochs = int(TRIAL_SECONDS * 1e6 / min(measured))
    two_workers(http)
    print(f"{trials} trials of {TRIAL_SECONDS * 1000:.0f} ms, a core a worker; load of the machine "
          f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n| | s |\n|---|---|")
    one, alone = sweep(http, trials, 1, epochs)
    print(f"| on one node | {one:.1f} |", flush=True)
    two, shared = sweep(http, trials, 2, epochs)
    print(f"| on two nodes | {two:.1f} |\ntwo nodes are {one / two:.2f} times one, trials "
          f"{'the same to the bit' if alone == shared else 'DIFFER'}")
    if alone != shared:
        raise Wrong("the trials of two workers are not those of one")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--trials", type=int, default=2000)
    options = parser.parse_args()
    port = urlsplit(options.url).port
    http = Http(port)
    starts(port, http)
    nodes(http, options.trials)


if __name__ == "__main__":
    main()
