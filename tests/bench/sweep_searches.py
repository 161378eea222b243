"""sweep_searches.py: the rows "asha" and "tpe" of tests/bench/sweeps: how good a network the searches find."""

import math
import statistics

import numpy as np

import workloads
from sweep_requests import RATE, WIDTH, Sweep, disc, few_digits, linear, logistic

WIDTHS = [2, 4, 8, 16, 32, 64]
RATES = 8  # of the grid
FACTOR = 4
SHARE = 1 / 8  # of the grid's epochs, for all of ASHA
NEAR = 0.02  # relatively


class Nets:
    """The disc by 2-w-2, searched over the learning rate and w. epochs: a power of FACTOR."""

    def __init__(self, name, activation, rates, epochs, **more):
        self.name, self.activation, self.rates, self.epochs, self.more = name, activation, rates, epochs, more

    def job(self, bench, epochs):
        return disc(bench, epochs, self.activation, **self.more)

    def points(self):
        return {RATE: {"values": [float(f"{rate:.3g}") for rate in np.geomspace(*self.rates, RATES)]},
                WIDTH: {"values": WIDTHS}}

    def ranges(self):
        return {RATE: {"log_uniform": list(self.rates)}, WIDTH: {"int_log_uniform": [WIDTHS[0], WIDTHS[-1]]}}


NETS = [
    Nets("tanh, full batch, momentum 0.9", "tanh", (0.01, 10), 1024, optimizer={"type": "sgd", "momentum": 0.9}),
    Nets("tanh, batches of 50", "tanh", (0.001, 1), 256, batch_size=50),
    Nets("relu, batches of 50", "relu", (0.001, 1), 256, batch_size=50),
]


def found(sweep, epochs):
    """The best metric of a trial that was trained to the end, infinite where there is none."""
    return min((row["metric"] for row in sweep.rows if row["epochs"] == epochs and row["metric"] is not None),
               default=math.inf)


def asha_of(bench, nets, space, epochs, trials, grid_best, grid_epochs):
    """ASHA over this space, and random search with as many epochs, by several seeds of the search."""
    request = {"job": nets.job(bench, epochs), "space": space, "max_trials": trials}
    asha = dict(request, search="asha", asha={"min_epochs": epochs // FACTOR**3, "factor": FACTOR})
    plain = dict(request, search="random", max_trials=int(grid_epochs * SHARE / epochs))
    seeds = []
    for seed in range(1, bench.size(20, 2) + 1):
        sweep = Sweep(bench.daemon, dict(asha, seed=seed))
        chance = Sweep(bench.daemon, dict(plain, seed=seed))
        best, random_best = found(sweep, epochs), found(chance, epochs)
        seeds.append({"seed": seed, "best": best, "share_of_epochs": sweep.epochs() / grid_epochs,
                      "above_grid": best / grid_best - 1, "random_above_grid": random_best / grid_best - 1})
    return seeds


def asha_summary(seeds):
    above = [each["above_grid"] for each in seeds]
    return {"seeds": seeds, "near": sum(each <= NEAR for each in above), "median_above_grid": statistics.median(above),
            "random_near": sum(each["random_above_grid"] <= NEAR for each in seeds),
            "random_median_above_grid": statistics.median(each["random_above_grid"] for each in seeds),
            "share_of_epochs": statistics.mean(each["share_of_epochs"] for each in seeds),
            "most_share_of_epochs": max(each["share_of_epochs"] for each in seeds)}


def ranks(bench, nets, grid, epochs):
    """{epochs of a rung: the rank of the grid's best point, had all of the grid been trained for so long}."""
    best, out = grid.rows[0]["values"], {}
    for rung in (3, 2, 1):
        job = nets.job(bench, epochs // FACTOR**rung)
        sweep = Sweep(bench.daemon, {"job": job, "space": nets.points(), "search": "grid"})
        out[epochs // FACTOR**rung] = next(row["rank"] for row in sweep.rows if row["values"] == best)
    return out


def asha(bench):
    out = {"factor": FACTOR, "near": NEAR, "share_wanted": SHARE, "nets": [], "wanted": [], "wrong": None}
    trials = bench.size(60, 24)
    for nets in NETS:
        epochs = bench.size(nets.epochs, FACTOR**3)
        grid = Sweep(bench.daemon, {"job": nets.job(bench, epochs), "space": nets.points(), "search": "grid"})
        grid_epochs = grid.epochs()
        if grid_epochs != RATES * len(WIDTHS) * epochs:
            return dict(out, wrong=f"the grid trained {grid_epochs} epochs")
        entry = {"name": nets.name, "epochs": epochs, "trials": trials, "grid_best": grid.rows[0]["metric"],
                 "grid_next": [row["metric"] for row in grid.rows[1:4]], "grid_values": grid.rows[0]["values"],
                 "ranks": ranks(bench, nets, grid, epochs), "spaces": {}}
        for name, space in (("points", nets.points()), ("ranges", nets.ranges())):
            entry["spaces"][name] = asha_summary(asha_of(bench, nets, space, epochs, trials, entry["grid_best"],
                                                         grid_epochs))
        out["nets"].append(entry)
        for name, space in entry["spaces"].items():
            out["wanted"].append({"what": f"{nets.name}, {name}: the median within {NEAR:.0%} of the grid's best",
                                  "wanted": NEAR, "reached": space["median_above_grid"],
                                  "met": space["median_above_grid"] <= NEAR})
    return out


# --- TPE ----------------------------------------------------------------------------------------------

def table_search(bench):
    job = {"data": {"dataset": bench.data(linear), "standardize": ["x", "y"], "validation": 0.25}, "loss": "mse",
           "model": {"layers": workloads.dense(8, 1)}, "optimizer": {"type": "adam"}, "epochs": bench.size(150, 5),
           "device": bench.device}
    return job, {RATE: {"log_uniform": [1e-4, 1]}, WIDTH: {"int_log_uniform": [2, 64]},
                 "/optimizer/weight_decay": {"log_uniform": [1e-6, 1]}}


def patients_search(bench):
    job = {"data": {"dataset": bench.data(logistic), "standardize": ["x"], "validation": 0.25},
           "loss": "bce_with_logits", "model": {"layers": workloads.dense(8, 1)}, "epochs": bench.size(6, 1),
           "device": bench.device}
    return job, {RATE: {"log_uniform": [1e-4, 1]}, "/optimizer/momentum": {"uniform": [0, 0.99]},
                 "/batch_size": {"int_log_uniform": [16, 512]}, WIDTH: {"int_log_uniform": [2, 32]}}


def disc_search(bench):
    job = disc(bench, bench.size(60, 4), "tanh", rows=500)
    return job, {RATE: {"log_uniform": [1e-3, 3]}, "/optimizer/momentum": {"uniform": [0, 0.95]},
                 WIDTH: {"int_log_uniform": [2, 32]}, "/batch_size": {"values": [10, 25, 50, 100, "full"]},
                 "/model/layers/1/type": {"values": ["relu", "tanh", "silu", "sigmoid"]}}


def digits_search(bench):
    layers = [{"type": "linear", "out_features": 8}, {"type": "relu"}, {"type": "dropout", "p": 0.1},
              {"type": "linear", "out_features": 10}]
    job = {"data": {"dataset": bench.data(few_digits), "validation": 0.25, "normalize": {"mean": 0.1307, "std": 0.3081}},
           "loss": "cross_entropy", "model": {"layers": layers}, "optimizer": {"type": "adam"}, "batch_size": 50,
           "epochs": bench.size(4, 1), "device": bench.device}
    return job, {RATE: {"log_uniform": [1e-5, 1]}, WIDTH: {"int_log_uniform": [2, 32]},
                 "/model/layers/2/p": {"uniform": [0, 0.8]}, "/optimizer/weight_decay": {"log_uniform": [1e-6, 10]}}


PROBLEMS = [("linear.json, 6-w-1, Adam", table_search), ("logistic.json, 19-w-1, SGD", patients_search),
            ("disc, 2-w-2, SGD", disc_search), ("800 digits, 784-w-10, Adam", digits_search)]


def tpe(bench):
    out = {"trials": bench.size(60, 12), "repeats": bench.size(20, 2), "problems": [], "wanted": [], "wrong": None}
    for name, make in PROBLEMS:
        try:
            job, space = make(bench)
        except workloads.Missing as missing:
            out["problems"].append({"name": name, "not_run": str(missing)})
            continue
        best = {}
        for search in ("random", "tpe"):
            best[search] = [found(Sweep(bench.daemon, {"job": job, "space": space, "search": search, "seed": seed,
                                                       "max_trials": out["trials"]}), job["epochs"])
                            for seed in range(1, out["repeats"] + 1)]
        medians = {search: statistics.median(metrics) for search, metrics in best.items()}
        out["problems"].append({"name": name, "axes": len(space), "best": best, "medians": medians,
                                "better": sum(metric < medians["random"] for metric in best["tpe"])})
        out["wanted"].append({"what": f"{name}: TPE's median best, over that of random search", "wanted": 1,
                              "reached": medians["tpe"] / medians["random"],
                              "met": medians["tpe"] < medians["random"]})
    return out
