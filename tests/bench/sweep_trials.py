"""sweep_trials.py: the row "alone" of tests/bench/sweeps: trials of sweeps of several kinds, drawn by chance, each
trained again as a job of its own: every metric must have the same bits. On a GPU, where a population adds up in
another order, it may be off by NEAR; and a training that enlarges any rounding, as one at the edge of its learning
rate does, is told by the CPU, which is not near the job either."""

import collections
import json
import math
import random

import workloads
from daemon import Failed
from sweep_requests import JSON, RATE, WIDTH, Sweep, disc, few_images, job_of, logistic, regression

DRAWN = 100
UNSTEADY_MOST = 0.05  # of those drawn
NEAR = 1e-3  # of the number, or of 1 where that is more


def kinds(bench):
    """{name: request}, of those whose data are on this machine. What is searched decides which executor runs it."""
    seed, on_cpu = bench.options.seed, bench.device == "cpu"
    out = {}

    def whole(least, most):
        """Of as many values as a sweep finds, or, where each needs a kernel that is compiled for it, of three."""
        return ({"int_log_uniform": [least, most]} if on_cpu else
                {"values": [least, round(math.sqrt(least * most)), most]})

    def add(name, make, **more):
        try:
            job, space = make()
        except workloads.Missing as missing:
            print(f"  alone: no {name}: {missing}")
            return
        out[name] = dict({"job": job, "space": space, "seed": seed, "max_trials": bench.size(60, 8)}, **more)

    def full_batch():
        job = regression(bench, bench.size(500, 20))
        job["data"]["validation"] = 0.2
        return job, {RATE: {"log_uniform": [1e-4, 2]}, WIDTH: whole(1, 200),
                     "/model/layers/1/type": {"values": ["relu", "tanh", "silu"]}}

    def batches():
        job = disc(bench, bench.size(40, 4), "tanh", rows=600, optimizer={"type": "adam"},
                   schedule={"type": "cosine"})
        job["model"]["layers"].insert(2, {"type": "dropout"})
        return job, {RATE: {"log_uniform": [1e-4, 0.5]}, WIDTH: whole(2, 64),
                     "/model/layers/2/p": {"uniform": [0, 0.7]}, "/batch_size": whole(7, 450),
                     "/schedule/type": {"values": ["cosine", "constant"]},
                     "/optimizer/type": {"values": ["adam", "adamw", "nadam", "rmsprop"]}}

    def folded():
        job = {"data": {"dataset": bench.data(logistic), "standardize": ["x"]}, "loss": "bce_with_logits",
               "model": {"layers": workloads.dense(4, 1)}, "epochs": bench.size(10, 2), "batch_size": 64,
               "device": bench.device}
        return job, {RATE: {"log_uniform": [1e-3, 1]}, "/optimizer/momentum": {"uniform": [0, 0.95]}}

    def wide():
        job = disc(bench, bench.size(4, 1), "relu", batch_size=100)
        job["model"]["layers"][2:2] = [{"type": "linear"}, {"type": "relu"}]
        return job, {RATE: {"log_uniform": [1e-3, 0.3]}, WIDTH: whole(8, 1500),
                     "/model/layers/2/out_features": whole(8, 1500)}

    def clipped():
        job = disc(bench, bench.size(200, 10), "elu", rows=400, clip={"norm": 1}, batch_size=64,
                   early_stopping={"patience": 8})
        return job, {RATE: {"log_uniform": [1e-3, 3]}, WIDTH: whole(2, 100),
                     "/clip/norm": {"log_uniform": [0.01, 10]}}

    def images():
        layers = [{"type": "conv2d", "out_channels": 4, "kernel_size": 5}, {"type": "batch_norm"}, {"type": "relu"},
                  {"type": "max_pool2d", "kernel_size": 2}, {"type": "flatten"}, {"type": "linear", "out_features": 10}]
        job = {"data": {"dataset": bench.data(few_images), "validation": 0.2}, "model": {"layers": layers},
               "loss": "cross_entropy", "epochs": bench.size(2, 1), "batch_size": 50, "device": bench.device,
               "optimizer": {"type": "sgd", "momentum": 0.9}}
        return job, {RATE: {"log_uniform": [1e-4, 0.1]}, "/model/layers/0/out_channels": whole(2, 12)}

    def executors():
        job = disc(bench, bench.size(30, 3), "tanh", rows=300, batch_size=30)
        return job, {"/executor": {"values": ["cpu/fused", "cpu/blocked", "cpu/reference"]},
                     RATE: {"log_uniform": [1e-3, 1]}, WIDTH: {"int_log_uniform": [2, 40]}}

    add("regression, full batch", full_batch)
    add("classifier, batches, dropout, Adam, cosine", batches)
    add("folds and repeats", folded, folds=4, repeats=2, stratify=True, max_trials=bench.size(15, 3))
    add("wide", wide, max_trials=bench.size(20, 4))
    add("clipped, stopped early", clipped)
    add("images", images, max_trials=bench.size(15, 2))
    if on_cpu:
        add("executors by name", executors)
    add("TPE", full_batch, search="tpe")
    add("ASHA, to the end", batches, search="asha", asha={"min_epochs": bench.size(10, 1), "factor": 2})
    return out


def trainings_of(name, sweep, epochs):
    """[(kind, sweep, trial, part)]: those that a promoted job repeats; of ASHA the trials that came to the end."""
    return [(name, sweep, row["trial"], part if len(row["metrics"]) > 1 else None)
            for row in sweep.rows if name != "ASHA, to the end" or row["epochs"] == epochs
            for part in range(len(row["metrics"]))]


def is_near(mine, other):
    return mine is not None and other is not None and abs(mine - other) <= NEAR * max(1, abs(mine))


def differences(trial, part, job, near=False):
    """What the job has otherwise than this part of the trial, and how many figures are compared. near: rounding may
    differ."""
    each = trial["parts"]["each"][part or 0]
    if each["outcome"] != "ok":
        return [] if job["status"] == "failed" else [f"{each['outcome']}, and the job {job['status']}"], 0
    if job["status"] != "succeeded":
        return [f"the job {job['status']}: {job['error']}"], 0
    found, figures = [] if each["epochs"] == job["progress"]["epoch"] else ["epochs"], 0
    for split, metrics in each["metrics"].items():
        others = job["metrics"][split] or {}
        for name, value in (metrics or {}).items():
            figures += value is not None
            other = others.get(name)
            if repr(value) != repr(other) and not (near and is_near(value, other)):
                found.append(f"{split}.{name}: {value!r}, alone {other!r}")
    return found if figures else found + ["no figures"], figures


def is_unsteady(bench, job):
    """Whether the same job on the CPU is not near the one on the GPU."""
    spec = dict(job["spec"], device="cpu", executor=None)
    other = job_of(bench.daemon, bench.daemon.request("POST", "/v1/jobs", json.dumps(spec), JSON)["id"])
    if "succeeded" not in (job["status"], other["status"]):
        return False
    if job["status"] != other["status"]:
        return True
    return not is_near(job["metrics"]["train"]["loss"], other["metrics"]["train"]["loss"])


def alone(bench):
    chance = random.Random(bench.options.seed)
    pools = {}
    for name, request in kinds(bench).items():
        sweep = Sweep(bench.daemon, request)
        pools[name] = trainings_of(name, sweep, request["job"]["epochs"])
        chance.shuffle(pools[name])
    drawn, count = [], bench.size(DRAWN, 20)
    while len(drawn) < count and any(pools.values()):
        pool = pools[chance.choice([name for name in pools if pools[name]])]
        drawn.append(pool.pop())
    jobs = [sweep.promote(trial, part) for _, sweep, trial, part in drawn]
    cells, wrong, outcomes = collections.Counter(), [], collections.Counter()
    same, figures, bits, unsteady, on_gpu = collections.Counter(), 0, 0, 0, bench.device != "cpu"
    for (name, sweep, number, part), identity in zip(drawn, jobs):
        trial, job = sweep.trial(number), job_of(bench.daemon, identity)
        found, compared = differences(trial, part, job, near=on_gpu)
        bits += not differences(trial, part, job)[0]
        figures += compared
        cell = (name, job["executor"] or "none")
        if found and on_gpu and is_unsteady(bench, job):
            unsteady, found = unsteady + 1, []
        cells[cell] += 1
        same[cell] += not found
        outcomes[trial["parts"]["each"][part or 0]["outcome"]] += 1
        if found:
            wrong.append(f"{name}, trial {number}, part {part}, {cell[1]}: {'; '.join(found[:3])}")
        last = trial, part, job
    if not drawn:
        raise Failed("no trial could be drawn")
    if unsteady > UNSTEADY_MOST * len(drawn):
        wrong.append(f"{unsteady} trainings are said to enlarge any rounding: more than chance draws")
    if not differences(last[0], last[1], job_of(bench.daemon, jobs[0]))[0]:
        wrong.append("the canary: another trial's job passes for this one")
    cells = [{"kind": kind, "executor": executor, "trials": cells[kind, executor], "same": same[kind, executor]}
             for kind, executor in sorted(cells)]
    return {"trials": len(drawn), "same": sum(same.values()), "same_bits": bits, "unsteady": unsteady,
            "figures": figures, "cells": cells, "outcomes": dict(outcomes), "wrong": "; ".join(wrong[:5]) or None,
            "wanted": [{"what": f"trials with the same figures ({bits} to the bit, {unsteady} unsteady)",
                        "wanted": len(drawn), "reached": sum(same.values()), "met": not wrong}]}
