"""The learning rates of PyTorch's schedulers, one a step: each is stepped once an epoch, but for
one_cycle, which is stepped after each batch, and a warm-up, which is stepped before each, so that no batch has the
rate 0."""

import torch
from torch.optim import lr_scheduler

LR = 0.1


def plateau_metrics(epochs):
    """A loss that falls, stalls, falls by less than counts, and stalls again."""
    losses = [1.0, 0.8, 0.6, 0.6, 0.61, 0.6, 0.599999, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.51, 0.5, 0.2]
    return [losses[min(epoch, len(losses) - 1)] for epoch in range(epochs)]


# name: (type, options, epochs, steps an epoch)
ROWS = {
    "constant": ("constant", {}, 4, 3),
    "step": ("step", {"step_size": 3, "gamma": 0.5}, 10, 4),
    "multi_step": ("multi_step", {"milestones": [2, 3, 7], "gamma": 0.1}, 10, 3),
    "exponential": ("exponential", {"gamma": 0.9}, 12, 2),
    "cosine": ("cosine", {"t_max": 10, "eta_min": 0.001}, 10, 3),
    "cosine_short": ("cosine", {"t_max": 4, "eta_min": 0.01}, 11, 2),
    "one_cycle": ("one_cycle", {"max_lr": 0.5, "pct_start": 0.3, "div_factor": 25.0, "final_div_factor": 1e4}, 6, 7),
    "one_cycle_options": ("one_cycle", {"max_lr": 0.2, "pct_start": 0.45, "div_factor": 10.0,
                                        "final_div_factor": 100.0}, 5, 9),
    "reduce_on_plateau": ("reduce_on_plateau", {"factor": 0.5, "patience": 2, "threshold": 1e-4, "min_lr": 0.004},
                          30, 2),
    "warmup_constant": ("constant", {"warmup_epochs": 3, "warmup_factor": 0.1}, 6, 4),
    "warmup_step": ("step", {"step_size": 2, "gamma": 0.5, "warmup_epochs": 3, "warmup_factor": 0.25}, 8, 4),
    "warmup_cosine": ("cosine", {"t_max": 8, "eta_min": 0.0, "warmup_epochs": 2, "warmup_factor": 0.5}, 8, 5),
}


def by_epoch(kind, options, optimizer):
    if kind == "constant":
        return lr_scheduler.ConstantLR(optimizer, factor=1.0)
    if kind == "step":
        return lr_scheduler.StepLR(optimizer, options["step_size"], options["gamma"])
    if kind == "multi_step":
        return lr_scheduler.MultiStepLR(optimizer, options["milestones"], options["gamma"])
    if kind == "exponential":
        return lr_scheduler.ExponentialLR(optimizer, options["gamma"])
    if kind == "cosine":
        return lr_scheduler.CosineAnnealingLR(optimizer, options["t_max"], options["eta_min"])
    return lr_scheduler.ReduceLROnPlateau(optimizer, factor=options["factor"], patience=options["patience"],
                                          threshold=options["threshold"], min_lr=options["min_lr"])


def make_optimizer():
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)


def warmup_factors(options, steps):
    """What the schedule's rate is multiplied by: LinearLR's on a rate of 1."""
    if "warmup_epochs" not in options:
        return [1.0] * steps
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = lr_scheduler.LinearLR(optimizer, options["warmup_factor"], 1.0, options["warmup_steps"])
    factors = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        factors.append(optimizer.param_groups[0]["lr"])
    return factors


def rates(kind, options, epochs, steps_per_epoch, metrics):
    optimizer, rates = make_optimizer(), []
    if kind == "one_cycle":
        scheduler = lr_scheduler.OneCycleLR(optimizer, options["max_lr"], total_steps=epochs * steps_per_epoch,
                                            pct_start=options["pct_start"], div_factor=options["div_factor"],
                                            final_div_factor=options["final_div_factor"], cycle_momentum=False)
    else:
        scheduler = by_epoch(kind, options, optimizer)
    for epoch in range(epochs):
        for _ in range(steps_per_epoch):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if kind == "one_cycle" and len(rates) < epochs * steps_per_epoch:
                scheduler.step()
        if kind == "reduce_on_plateau":
            scheduler.step(metrics[epoch])
        elif kind != "one_cycle":
            scheduler.step()
    return rates


def schedules():
    """(name, what the file holds)"""
    for name, (kind, options, epochs, steps_per_epoch) in ROWS.items():
        metrics = plateau_metrics(epochs) if kind == "reduce_on_plateau" else None
        warmup = {"warmup_steps": options.get("warmup_epochs", 0) * steps_per_epoch}
        factors = warmup_factors(options | warmup, epochs * steps_per_epoch)
        plain = rates(kind, options, epochs, steps_per_epoch, metrics)
        row = {"name": f"schedule_{name}", "type": kind, "lr_first": LR, "options": options, "epochs": epochs,
               "steps_per_epoch": steps_per_epoch, "lr": [rate * factor for rate, factor in zip(plain, factors)]}
        yield name, row | ({"metrics": metrics} if metrics else {})
