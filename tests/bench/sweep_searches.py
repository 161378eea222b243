"""sweep_searches.py: the rows "asha" and "tpe" of tests/bench/sweeps: how good a network the searches find."""

import json
import math
import statistics

import numpy as np

import workloads
from daemon import Failed
from sweep_requests import RATE, WIDTH, Sweep, disc, few_digits, linear, logistic

FACTOR = 4  # of ASHA, which begins with 1 / FACTOR^3 of the epochs
SHARE = 1 / 8  # of the grid's epochs, for all of ASHA
NEAR = 0.02  # relatively


class Grid:
    """So many learning rates and these widths; trials: of ASHA, which take an eighth of its epochs or less."""

    def __init__(self, rates, widths, trials):
        self.rates, self.widths, self.trials = rates, widths, trials
        self.name = f"{rates} x {len(widths)}"
        self.count = rates * len(widths)


GRIDS = [Grid(8, [2, 4, 8, 16, 32, 64], 60), Grid(16, [2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91], 250)]


class Nets:
    """The disc by 2-w-2, searched over the learning rate and w. epochs: a power of FACTOR."""

    def __init__(self, name, activation, rates, epochs, **more):
        self.name, self.activation, self.rates, self.epochs, self.more = name, activation, rates, epochs, more

    def job(self, bench, epochs):
        return disc(bench, epochs, self.activation, **self.more)

    def points(self, grid):
        return {RATE: {"values": [float(f"{rate:.3g}") for rate in np.geomspace(*self.rates, grid.rates)]},
                WIDTH: {"values": grid.widths}}

    def ranges(self, grid):
        return {RATE: {"log_uniform": list(self.rates)}, WIDTH: {"int_log_uniform": [grid.widths[0], grid.widths[-1]]}}


NETS = [
    Nets("tanh, full batch, momentum 0.9", "tanh", (0.01, 10), 1024, optimizer={"type": "sgd", "momentum": 0.9}),
    Nets("tanh, batches of 50", "tanh", (0.001, 1), 256, batch_size=50),
    Nets("relu, batches of 50", "relu", (0.001, 1), 256, batch_size=50),
]


def to_the_end(sweep, epochs):
    """The metrics of the trials that were trained to the end."""
    return [row["metric"] for row in sweep.rows if row["epochs"] == epochs and row["metric"] is not None]


def found(sweep, epochs):
    """The best of them; infinite where there is none."""
    return min(to_the_end(sweep, epochs), default=math.inf)


def asha_seeds(bench, job, space, trials, whole):
    """ASHA over this space, and random search with as many epochs, by several seeds of the search. whole: the grid's
    sweep."""
    epochs, grid_epochs, best = job["epochs"], whole.epochs(), whole.rows[0]["metric"]
    asha = {"job": job, "space": space, "max_trials": trials, "search": "asha",
            "asha": {"min_epochs": epochs // FACTOR**3, "factor": FACTOR}}
    plain = dict(asha, search="random", max_trials=int(grid_epochs * SHARE / epochs))
    seeds = []
    for seed in range(1, bench.size(20, 2) + 1):
        sweep, chance = Sweep(bench.daemon, dict(asha, seed=seed)), Sweep(bench.daemon, dict(plain, seed=seed))
        seeds.append({"seed": seed, "share_of_epochs": sweep.epochs() / grid_epochs,
                      "points": len({json.dumps(row["values"]) for row in sweep.rows}),
                      "to_the_end": len(to_the_end(sweep, epochs)), "above_grid": found(sweep, epochs) / best - 1,
                      "random_above_grid": found(chance, epochs) / best - 1})
    return seeds


def asha_summary(seeds):
    above, by_chance = ([each[key] for each in seeds] for key in ("above_grid", "random_above_grid"))
    shares = [each["share_of_epochs"] for each in seeds]
    return {"seeds": seeds, "near": sum(each <= NEAR for each in above), "median_above_grid": statistics.median(above),
            "random_near": sum(each <= NEAR for each in by_chance),
            "random_median_above_grid": statistics.median(by_chance),
            "points": statistics.mean(each["points"] for each in seeds),
            "to_the_end": statistics.mean(each["to_the_end"] for each in seeds),
            "share_of_epochs": statistics.mean(shares), "most_share_of_epochs": max(shares)}


def ranks(bench, nets, grid, whole, epochs):
    """{epochs of a rung: the rank of the grid's best point, had all of the grid been trained for so long}."""
    best, out = whole.rows[0]["values"], {}
    for rung in (3, 2, 1):
        job = nets.job(bench, epochs // FACTOR**rung)
        sweep = Sweep(bench.daemon, {"job": job, "space": nets.points(grid), "search": "grid"})
        out[job["epochs"]] = next(row["rank"] for row in sweep.rows if row["values"] == best)
    return out


def asha_beside(bench, nets, grid):
    """ASHA beside one grid."""
    job = nets.job(bench, bench.size(nets.epochs, FACTOR**3))
    whole = Sweep(bench.daemon, {"job": job, "space": nets.points(grid), "search": "grid"})
    if whole.epochs() != grid.count * job["epochs"]:
        raise Failed(f"a grid of {grid.count} points trained {whole.epochs()} epochs")
    spaces = {"points": nets.points(grid), "ranges": nets.ranges(grid)}
    return {"name": nets.name, "grid": grid.name, "epochs": job["epochs"], "trials": grid.trials,
            "grid_best": whole.rows[0]["metric"], "grid_next": [row["metric"] for row in whole.rows[1:4]],
            "grid_values": whole.rows[0]["values"], "ranks": ranks(bench, nets, grid, whole, job["epochs"]),
            "spaces": {name: asha_summary(asha_seeds(bench, job, space, grid.trials, whole))
                       for name, space in spaces.items()}}


def asha(bench):
    nets = [asha_beside(bench, each, grid) for grid in GRIDS[:bench.size(len(GRIDS), 1)] for each in NETS]
    wanted = [{"what": f"{entry['name']}, {entry['grid']}, {name}: ASHA's best above the grid's, median",
               "wanted": NEAR, "reached": space["median_above_grid"], "met": space["median_above_grid"] <= NEAR}
              for entry in nets for name, space in entry["spaces"].items()]
    return {"factor": FACTOR, "share_wanted": SHARE, "near": NEAR, "nets": nets, "wanted": wanted, "wrong": None}


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
    data = {"dataset": bench.data(few_digits), "validation": 0.25, "normalize": {"mean": 0.1307, "std": 0.3081}}
    job = {"data": data, "loss": "cross_entropy", "model": {"layers": layers}, "optimizer": {"type": "adam"},
           "batch_size": 50, "epochs": bench.size(4, 1), "device": bench.device}
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
