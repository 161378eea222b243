"""gpus_sweep.py: the parts of tests/bench/gpus that share many trainings, and that kill."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time

from contenders import HERE
from daemon import Failed
from gpus_jobs import counts_of
from sweep_requests import Sweep

TRIALS = 10000
SWEEP_SECONDS = 8  # of one GPU, about; twice that where it trains one after another
SWEEP_WANTED = 0.95  # of the GPUs: 3.8 of four
KILLS = 20
KILLS_SECONDS_MAX = 240
RANKS = os.path.join(HERE, "..", "fault", "ranks.py")

# (what trains such: 2-w-…-w-2, hidden widths). A GPU takes small ones together, several a warp or one a block; what is
# too much for a block's memory is trained alone.
NETS = {"2-8-2, together, several a warp": [8], "2-32-32-2, together, one a block": [32, 32],
        "2-256-256-2, one by one": [256, 256]}


def request(widths, trials, epochs, workers):
    layers = []
    for width in widths:
        layers += [{"type": "linear", "out_features": width}, {"type": "tanh"}]
    return {"job": {"device": "cuda", "data": {"generator": "disc", "rows": 512, "validation": 0.25},
                    "loss": "cross_entropy", "epochs": epochs, "batch_size": 32, "report_every": epochs,
                    "optimizer": {"type": "sgd", "lr": 0.1, "momentum": 0.9},
                    "model": {"layers": layers + [{"type": "linear", "out_features": 2}]}},
            "space": {"/optimizer/lr": {"log_uniform": [1e-3, 1]}, "/seed": {"int_uniform": [1, 1000000]}},
            "max_trials": trials, "workers": workers, "seed": 1}


def board(sweep):
    """The leaderboard without what a machine's clock says. When a trial that is trained with others diverged is
    known to a launch."""
    def told(row):
        return [name for name in row if name != "train_seconds" and (name != "epochs" or row["outcome"] == "ok")]
    return [{name: row[name] for name in told(row)} for row in sweep.rows]


def helped(daemon):
    """Trainings of helpers so far."""
    daemon.connection.close()
    daemon.connection.request("GET", "/metrics")
    lines = daemon.connection.getresponse().read().decode().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("epochd_sweep_helped_total"))


def sized(bench, widths):
    """(trials, epochs) that one GPU trains in about the wanted seconds; each GPU has compiled what it runs."""
    daemon, wanted = bench.daemon(), bench.size(SWEEP_SECONDS, 0.3)
    few, epochs = bench.size(64, 16) * bench.count, bench.size(20, 2)
    for _ in range(2):  # the first one compiles
        began = Sweep(daemon, request(widths, few, epochs, bench.count))
        began = Sweep(daemon, request(widths, few, epochs, 1))
    together, pace = bench.size(TRIALS, 200), began.seconds / few
    if pace * together > 4 * wanted:
        return max(10 * bench.count, int(2 * wanted / pace)), epochs
    for _ in range(4):
        took = Sweep(daemon, request(widths, together, epochs, 1)).seconds
        if took > wanted / 2:
            break
        epochs = min(int(epochs * min(20, wanted / took)) + 1, 20000)
    return together, epochs


def net_measure(bench, name, widths):
    widths = [bench.size(width, min(width, 64)) for width in widths]
    trials, epochs = sized(bench, widths)
    counts = [1] + counts_of(bench.count)
    seconds, boards = {count: [] for count in counts}, {}
    shared = {}
    for _ in range(max(1, bench.options.rounds - 1)):
        for count in counts:
            before = helped(bench.daemon())
            sweep = Sweep(bench.daemon(), request(widths, trials, epochs, count))
            seconds[count].append(sweep.seconds)
            shared[count] = helped(bench.daemon()) - before
            boards.setdefault(count, board(sweep))
    wrong = None
    for count in counts:
        if len(boards[count]) != trials or any(row["outcome"] not in ("ok", "diverged") for row in boards[count]):
            wrong = f"{len(boards[count])} trials of {trials} on {count}, or some failed"
        elif boards[count] != boards[1]:
            differ = sum(a != b for a, b in zip(boards[count], boards[1]))
            wrong = f"on {count} GPUs {differ} rows of the leaderboard are others than on one"
        elif count == 1 and shared[count] > 0:
            wrong = f"with \"workers\": 1, {shared[count]:.0f} trainings were of helpers"
        elif count > 1 and shared[count] == 0 and not bench.options.smoke:  # tiny ones may end before help comes
            wrong = f"with \"workers\": {count}, one GPU has trained all"
    one = statistics.median(seconds[1])
    rows = [{"workers": count, "seconds": statistics.median(seconds[count]), "runs": seconds[count],
             "helped": shared[count], "times": one / statistics.median(seconds[count])} for count in counts]
    if not wrong:
        print(f"    {name}, {trials:,} trials of {epochs:,} epochs: " +
              ", ".join(f"{row['workers']}: {row['seconds']:.2f} s ({row['times']:.2f})" for row in rows), flush=True)
    return {"name": name, "trials": trials, "epochs": epochs, "rows": rows, "wrong": wrong}


def sweep(bench):
    out = {"nets": [], "wrong": None, "wanted": []}
    for name, widths in NETS.items():
        if out["nets"] and bench.left() < bench.size(60, 0):
            out["nets"].append({"name": name, "not_run": "the time was over"})
            continue
        try:
            net = net_measure(bench, name, widths)
        except Failed as reason:
            net = {"name": name, "not_run": str(reason)}
        out["nets"].append(net)
        if "not_run" in net:
            print(f"    {name}: not run: {net['not_run']}", flush=True)
            continue
        out["wrong"] = out["wrong"] or net["wrong"] and f"{name}: {net['wrong']}"
        out["wanted"] += [{"what": f"{name}, {row['workers']} GPUs: times one", "wanted": SWEEP_WANTED * row["workers"],
                           "reached": row["times"], "met": row["times"] >= SWEEP_WANTED * row["workers"]}
                          for row in net["rows"] if row["workers"] > 1]
    return out


def kills(bench):
    """tests/fault/ranks.py, on daemons of its own."""
    bench.rest()
    wanted = bench.size(KILLS, 3)
    path = os.path.join(bench.folder, "kills.json")
    flags = ["--plugin", os.path.abspath(bench.options.plugin)] if bench.options.plugin else []
    limit = min(KILLS_SECONDS_MAX, max(20, bench.left()))
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, RANKS, bench.options.prefix, "--gpus", str(bench.count), "--rounds",
                                str(wanted), "--seed", "1", "--seconds", str(0.7 * limit), "--json", path, *flags])
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # so that it ends its daemon
        process.wait()
    if not os.path.exists(path):
        raise Failed(f"tests/fault/ranks.py ended with {process.returncode}, see above")
    with open(path, encoding="utf-8") as file:
        out = json.load(file)
    count = sum(out["killed"].values())
    same = sum(row["kills"] for row in out["rows"] if not row["fault"])
    out.update(seconds=time.monotonic() - began, wrong="; ".join(out["faults"][:3]) or None,
               wanted=[{"what": "kills after which all went on to the same weights", "wanted": wanted, "reached": same,
                        "met": same >= wanted and count == same}])
    return out
