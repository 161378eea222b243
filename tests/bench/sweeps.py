#!/usr/bin/env python3
"""sweeps.py [ROW…]: the measurements of tests/bench/sweeps, which says what the rows are."""

import argparse
import json
import math
import os
import random
import statistics
import sys
import threading

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
import report  # noqa: E402 (NumPy comes with it, after the number of its threads)
import sweep_tables  # noqa: E402
import workloads  # noqa: E402
from contenders import NotRun, PeerProcess  # noqa: E402
from daemon import Failed  # noqa: E402
from footprint import resident_kib  # noqa: E402
from sweep_requests import JSON, RATE, Bench, Sweep, job_of, linear, regression  # noqa: E402
from sweep_searches import asha, tpe  # noqa: E402
from sweep_trials import alone, is_near  # noqa: E402

LEARNING_RATES = {"log_uniform": [1e-4, 1e-1]}
SAME = 0.01  # how far a loss may be from NumPy's from the same first weights, relatively
PEERS = [("numpy", "arrays"), ("torch", "eager")]
PEER_SECONDS_MAX = 1e9  # a peer trains all its epochs
RATE_WANTED, OVERHEAD_WANTED = 20, 1.1
GPU_RATES_WANTED = 250, 400  # million model-epochs a second
OVERHEAD_TRIALS = {"cpu": (2000, 10000), "gpu": (10000, 100000)}
GPU_SECONDS_WANTED = 2, 15  # from POST to the last row


def table_sweep(bench, trials, epochs, **more):
    """6-6-1 on linear.json, full batch, SGD; the learning rate varies."""
    job = regression(bench, epochs, shuffle=False, report_every=epochs, **more)
    return {"job": job, "space": {RATE: LEARNING_RATES}, "metric": "train.loss", "max_trials": trials,
            "seed": bench.options.seed}


# --- rate ---------------------------------------------------------------------------------------------

class Peers:
    """One library, a process a core: each trains its share of the trials, one after another."""

    def __init__(self, module, variant, works):
        cores = sorted(os.sched_getaffinity(0))
        self.module, self.variant, self.processes = module, variant, []
        self.works = [works[place::len(cores)] for place in range(len(cores))]
        for core, share in zip(cores, self.works):
            process = PeerProcess(module, "cpu", [core])
            self.version = process.hello()
            self.processes.append(process)
            for work in share:
                process.ask({"do": "prepare", "work": dict(work, variants=[variant])})
        self.losses = [None] * len(works)
        self.rates = []  # epochs a second of all cores, a round each

    def _train(self, place, seconds):
        for turn, work in enumerate(self.works[place]):
            said = self.processes[place].ask({"do": "run", "name": work["name"], "variant": self.variant,
                                              "seconds_max": PEER_SECONDS_MAX})
            seconds[place] += said["seconds"]
            self.losses[place + turn * len(self.processes)] = said["answer"]["train_loss"]

    def run(self):
        """One round, all cores at once; counts the seconds of the loops alone."""
        seconds = [0.0] * len(self.processes)
        threads = [threading.Thread(target=self._train, args=(place, seconds)) for place in range(len(seconds))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.rates.append(sum(sum(work["epochs"] for work in works) / took
                              for works, took in zip(self.works, seconds) if works))

    def end(self):
        for process in self.processes:
            process.end()


def first_weights(bench):
    """An NPZ of the weights that all trials begin with: a job that learns nothing ends with them."""
    job = regression(bench, 1, optimizer={"type": "sgd", "lr": 1e-30})
    identity = job_of(bench.daemon, bench.daemon.request("POST", "/v1/jobs", json.dumps(job), JSON)["id"])["id"]
    bench.daemon.connection.request("GET", f"/v1/jobs/{identity}/weights?format=npz")
    path = os.path.join(bench.daemon.folder, "first-weights.npz")
    with open(path, "wb") as file:
        file.write(bench.daemon.connection.getresponse().read())
    return path


def judge_rate(sampled, peers):
    """What is wrong: from the same first weights, trials have the loss of each peer's training."""
    for peer in peers:
        for row, loss in zip(sampled, peer.losses):
            if not abs(row["metric"] - loss) <= SAME * abs(loss):
                return (f"trial {row['trial']} ends with a loss of {row['metric']:.6g}, {peer.module} from the same "
                        f"first weights with {loss:.6g}")
    return None


def judge_alone(bench, sweep, expected):
    """(what is wrong, the executor): all trials are there, and three, drawn by chance, are their jobs alone."""
    executor = None
    if len(sweep.rows) != expected or any(row["outcome"] != "ok" for row in sweep.rows):
        return f"{len(sweep.rows)} trials of {expected}, or some failed", None
    for row in random.Random(bench.options.seed).sample(sweep.rows, 3):
        job = job_of(bench.daemon, sweep.promote(row["trial"]))
        executor = job["executor"]
        loss = job["metrics"]["train"]["loss"]
        if loss != row["metric"] and not (bench.device != "cpu" and is_near(loss, row["metric"])):
            return f"trial {row['trial']} has a loss of {row['metric']}, its job alone {loss}", executor
    return None, executor


def rate_wanted(bench, sizes, peers):
    """On a GPU what its lanes should do, on a CPU how many times NumPy."""
    if bench.device != "cpu":
        return [{"what": f"million model-epochs a second of {size['trials']:,} trials", "wanted": wanted,
                 "reached": size["epochs_per_second"] / 1e6, "met": size["epochs_per_second"] >= wanted * 1e6}
                for size, wanted in zip(sizes, GPU_RATES_WANTED)]
    ratio = next((sizes[-1]["epochs_per_second"] / peer["epochs_per_second"] for peer in peers
                  if peer["name"] == "numpy"), None)
    return [{"what": "times NumPy on all cores", "wanted": RATE_WANTED, "reached": ratio,
             "met": None if ratio is None else ratio >= RATE_WANTED}]


def rate(bench):
    epochs = bench.size(4000, 100)
    counts = (bench.size(4000, 40),) if bench.device == "cpu" else (bench.size(1024, 40), bench.size(16896, 80))
    few = Sweep(bench.daemon, table_sweep(bench, bench.size(400, 8), epochs))  # warm; the first trials of the others
    sampled = sorted(few.rows, key=lambda trial: trial["trial"])[:bench.size(16, 4)]
    row = workloads.Row("", "", linear, (6,), workloads.dense(6, 1), "mse", epochs=epochs, standardize=["x", "y"])
    row.rows_count = len(linear()["x_train"])
    weights = first_weights(bench)

    def work_of(trial):
        row.name, row.lr = f"trial-{trial['trial']}", trial["values"][RATE]
        return row.work(os.path.join(bench.daemon.folder, "linear.npz"), weights, [])

    peers, absent, rounds, sweeps = [], [], {count: [] for count in counts}, {}
    for module, variant in PEERS:
        try:
            peers.append(Peers(module, variant, [work_of(trial) for trial in sampled]))
        except NotRun as reason:
            absent.append({"name": module, "reason": str(reason)})
    for _ in range(bench.options.rounds):
        for count in counts:
            sweeps[count] = Sweep(bench.daemon, table_sweep(bench, count, epochs))
            rounds[count].append(sweeps[count].seconds)
        for peer in peers:
            peer.run()
    wrong, executor = judge_rate(sampled, peers), None
    for count, sweep in sweeps.items():
        other, executor = judge_alone(bench, sweep, count)
        metrics = {trial["trial"]: trial["metric"] for trial in sweep.rows}
        if any(metrics.get(trial["trial"]) != trial["metric"] for trial in few.rows):
            other = other or "two sweeps differ in their first trials"
        wrong = wrong or other
    for peer in peers:
        peer.end()
    sizes = [{"trials": count, "rounds": rounds[count], "seconds": statistics.median(rounds[count]),
              "epochs_per_second": count * epochs / statistics.median(rounds[count])} for count in counts]
    entries = [{"name": peer.module, "version": peer.version, "processes": len(peer.processes),
                "epochs_per_second": statistics.median(peer.rates)} for peer in peers]
    return {"epochs": epochs, "sizes": sizes, "sampled": len(sampled), "executor": executor, "peers": entries,
            "not_there": absent, "wrong": wrong, "wanted": rate_wanted(bench, sizes, entries)}


# --- overhead -----------------------------------------------------------------------------------------

def most_resident_kib(process):
    for line in open(f"/proc/{process}/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    raise NotRun(f"process {process} has no VmHWM")


def worker_of(daemon, device):
    """The process id of the worker that holds the device."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()[1]
            arguments = open(f"/proc/{entry}/cmdline").read().split("\0")
        except OSError:
            continue
        if int(parent) == daemon.process.pid and "--device" in arguments and \
                arguments[arguments.index("--device") + 1] == device:
            return int(entry)
    raise NotRun(f"no worker holds {device}")


def memory(daemon, device):
    processes = {"epochd": daemon.process.pid, "epoch-worker": worker_of(daemon, device)}
    return {name: {"resident_kib": resident_kib(process), "most_kib": most_resident_kib(process)}
            for name, process in processes.items()}


def overhead_of(bench, daemon, trials, epochs):
    """One sweep: its seconds beside those of its trainings."""
    before = memory(daemon, bench.device)
    sweep = Sweep(daemon, table_sweep(bench, trials, epochs))
    after = memory(daemon, bench.device)
    if len(sweep.rows) != trials or sweep.trainings != trials or any(row["outcome"] != "ok" for row in sweep.rows):
        raise Failed(f"{len(sweep.rows)} trials of {trials}, or some failed")
    each = sum(row["train_seconds"] for row in sweep.rows) / bench.at_once
    return {"post_to_last_row_seconds": sweep.seconds, "sweep_seconds": sweep.train_seconds,
            "trainings_seconds": each, "over": sweep.train_seconds / each, "before": before, "after": after}


def overhead(bench):
    out = {"epochs": bench.size(1000, 50), "at_once": bench.at_once, "sweeps": [], "wrong": None}
    for trials in OVERHEAD_TRIALS["cpu" if bench.device == "cpu" else "gpu"]:
        trials = bench.size(trials, 80)
        daemon = bench.fresh_daemon()
        # The rows' data are by name, on this daemon too.
        bench.data(linear, daemon)
        Sweep(daemon, table_sweep(bench, 20, out["epochs"]))  # warm
        runs = [overhead_of(bench, daemon, trials, out["epochs"]) for _ in range(bench.options.rounds)]
        daemon.stop()
        median = sorted(runs, key=lambda run: run["over"])[len(runs) // 2]
        out["sweeps"].append(dict(median, trials=trials, runs=[run["over"] for run in runs],
                                  post_to_last_row_runs=[run["post_to_last_row_seconds"] for run in runs],
                                  before=runs[0]["before"], after=runs[-1]["after"]))
    if bench.device == "cpu":
        out["wanted"] = [{"what": f"{entry['trials']:,} trials: the sweep's seconds over those of its trainings",
                          "wanted": OVERHEAD_WANTED, "reached": entry["over"], "met": entry["over"] < OVERHEAD_WANTED}
                         for entry in out["sweeps"][:1]]
    else:
        out["wanted"] = [{"what": f"{entry['trials']:,} trials: seconds from POST to the last row", "wanted": wanted,
                          "reached": entry["post_to_last_row_seconds"],
                          "met": entry["post_to_last_row_seconds"] < wanted}
                         for entry, wanted in zip(out["sweeps"], GPU_SECONDS_WANTED)]
    return out


# --- tables -------------------------------------------------------------------------------------------

ROWS = {"rate": rate, "overhead": overhead, "alone": alone, "asha": asha, "tpe": tpe}


def plain(value):
    """JSON has no infinity: null stands for it."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(name, row):
    if "not_run" in row:
        print(f"\n{name}: not run: {row['not_run']}")
        return
    print(f"\n{name}, load average {row['load_average']:.2f}" + (f": WRONG: {row['wrong']}" if row["wrong"] else ""))
    if not row["wrong"]:
        report.table(*sweep_tables.TABLES[name](row))
    for entry in row["wanted"]:
        reached = "none" if entry["reached"] is None else report.figure(entry["reached"])
        print(f"  {entry['what']}: wanted {entry['wanted']:.4g}, reached {reached}" +
              (" (short)" if entry["met"] is False else ""))


def kept(path):
    """The rows that the file has."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file).get("rows", {})


def main():
    parser = argparse.ArgumentParser(description="sweeps; see tests/bench/sweeps")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--stripped")
    parser.add_argument("--json", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("names", nargs="*", metavar="ROW", help=", ".join(ROWS))
    options = parser.parse_intermixed_args()
    unknown = set(options.names) - set(ROWS)
    if unknown:
        raise SystemExit(f"there is no row {sorted(unknown)}; there are {list(ROWS)}")
    out = dict(report.machine(), device=options.device, versions={}, rows={} if options.smoke else kept(options.json))
    right, bench = True, Bench(options)
    for name, measure in ROWS.items():
        if options.names and name not in options.names:
            continue
        print(f"  {name} …", flush=True)
        load = os.getloadavg()[0]
        bench.daemon.connection.close()  # a new one: the daemon closes those that idle
        try:
            row = measure(bench)
        except (NotRun, Failed, workloads.Missing) as reason:
            row = {"not_run": str(reason), "wrong": None, "wanted": []}
        row.update(load_average=load, commit=out["commit"], date=out["date"])
        out["rows"][name] = plain(row)
        out["versions"] = {peer["name"]: peer["version"] for peer in out["rows"].get("rate", {}).get("peers", [])}
        report.write(out, options.json)
        show(name, out["rows"][name])
        right = right and not row["wrong"] and "not_run" not in row
    bench.close()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
