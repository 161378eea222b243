#!/usr/bin/env python3
"""Golden trajectories: small trainings by PyTorch, one JSON file each, that every executor must
repeat.

    python3 tests/golden/make.py tests/golden/data

Each row of the vocabulary (layers, losses, optimizer options) is trained for STEPS steps, on the
full batch and on mini-batches in order. Initial parameters and data are float32, so that they are
the same numbers everywhere; the training itself runs in float64, so that what is written is the
right answer and not one rounding of it. Parameters stand in the order of nn.Sequential: weight,
then bias, layer by layer. The files hold what was drawn, so a newer PyTorch need not draw the same.
"""

import json
import os
import sys

import torch
from torch import nn

ROWS, IN_FEATURES, HIDDEN, STEPS = 13, 5, 7, 20
BATCH_SIZES = {"full": ROWS, "mini": 4}  # 13 = 4 + 4 + 4 + 1: the last batch is a small one
FLOAT32_AGREES = 5e-6  # a case whose float32 training strays further stands too near a kink

LAYERS = {
    "linear": lambda: nn.Linear(HIDDEN, 4),
    "relu": nn.ReLU,
    "leaky_relu": lambda: nn.LeakyReLU(0.1),
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "gelu": nn.GELU,
    "sin": lambda: Sin(),
    "softmax": lambda: nn.Softmax(dim=1),
    "log_softmax": lambda: nn.LogSoftmax(dim=1),
}

# name: (the layer before the loss, outputs, the loss itself)
LOSSES = {
    "mse": (None, 3, nn.MSELoss),
    "mae": (None, 3, nn.L1Loss),
    "huber": (None, 3, lambda: nn.HuberLoss(delta=0.5)),
    "bce": ("sigmoid", 3, nn.BCELoss),
    "bce_with_logits": (None, 3, nn.BCEWithLogitsLoss),
    "cross_entropy": (None, 4, nn.CrossEntropyLoss),
    "nll": ("log_softmax", 4, nn.NLLLoss),
}

OPTIMIZERS = {
    "sgd": {},
    "momentum": {"momentum": 0.9},
    "nesterov": {"momentum": 0.8, "nesterov": True},
    "weight_decay": {"weight_decay": 0.1},
    "momentum_weight_decay": {"momentum": 0.5, "weight_decay": 0.05},
    "nesterov_weight_decay": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.02},
}


class Sin(nn.Module):
    def forward(self, x):
        return torch.sin(x)


def layer_rows(model):
    """The model's layers as a job's spec writes them."""
    names = {type(make()): name for name, make in LAYERS.items()}
    rows = []
    for layer in model:
        row = {"type": names[type(layer)]}
        if isinstance(layer, nn.Linear):
            row |= {"out_features": layer.out_features, "bias": layer.bias is not None}
        if isinstance(layer, nn.LeakyReLU):
            row["negative_slope"] = layer.negative_slope
        rows.append(row)
    return rows


def flat(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def targets(loss, outputs):
    if loss in ("cross_entropy", "nll"):
        return torch.randint(0, outputs, (ROWS,))
    if loss in ("bce", "bce_with_logits"):
        return torch.randint(0, 2, (ROWS, outputs)).float()
    return torch.randn(ROWS, outputs)


def misclassified(loss, output, y):
    if loss in ("cross_entropy", "nll"):
        return int((output.argmax(dim=1) != y).sum())
    if loss == "bce":
        return int(((output > 0.5) != (y > 0.5)).sum())
    if loss == "bce_with_logits":
        return int(((output > 0) != (y > 0.5)).sum())
    return 0


def train(model, initial, loss, options, batch_size, x, y, dtype):
    """STEPS steps from `initial`: losses and errors, each before its update."""
    model.to(dtype)
    # The model's parameters become views of what they are set from: a copy, which training changes.
    nn.utils.vector_to_parameters(initial.to(dtype, copy=True), model.parameters())
    x = x.to(dtype)
    y = y if y.dtype == torch.int64 else y.to(dtype)
    criterion = LOSSES[loss][2]()
    optimizer = torch.optim.SGD(model.parameters(), **options)
    batches = list(zip(x.split(batch_size), y.split(batch_size)))
    losses, errors = [], []
    for step in range(STEPS):
        batch_x, batch_y = batches[step % len(batches)]
        output = model(batch_x)
        value = criterion(output, batch_y)
        losses.append(value.item())
        errors.append(misclassified(loss, output.detach(), batch_y))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    with torch.no_grad():
        return losses, errors, flat(model), model(x)


def strays(one, other):
    one, other = torch.as_tensor(one).double(), torch.as_tensor(other).double()
    return ((one - other).abs().max() / other.pow(2).mean().sqrt()).item()


def draw(seed, make_model, loss, options, batch_size):
    torch.manual_seed(seed)
    model = make_model()
    initial, x, y = flat(model), torch.randn(ROWS, IN_FEATURES), targets(loss, LOSSES[loss][1])
    single = train(model, initial, loss, options, batch_size, x, y, torch.float32)
    double = train(model, initial, loss, options, batch_size, x, y, torch.float64)
    near = max(strays(single[i], double[i]) for i in (0, 2, 3)) < FLOAT32_AGREES
    if not near or single[1] != double[1]:
        return None
    losses, errors, trained, output = double
    return {
        "torch": torch.__version__.split("+")[0],
        "seed": seed,
        "in_features": IN_FEATURES,
        "layers": layer_rows(model),
        "loss": loss,
        "huber_delta": 0.5,
        "optimizer": {"type": "sgd", "momentum": 0.0, "nesterov": False, "weight_decay": 0.0} | options,
        "rows": ROWS,
        "batch_size": batch_size,
        "x": numbers(x, 9),
        "y": y.reshape(-1).tolist() if y.dtype == torch.int64 else numbers(y, 9),
        "initial": numbers(initial, 9),
        "losses": [float(f"{value:.10g}") for value in losses],
        "errors": errors,
        "trained": numbers(trained, 10),
        "output": numbers(output, 10),
    }


def numbers(tensor, digits):
    return [float(f"{value:.{digits}g}") for value in tensor.reshape(-1).tolist()]


def head(loss):
    last, outputs, _ = LOSSES[loss]
    return outputs, [] if last is None else [LAYERS[last]()]


def layer_model(name):
    between = LAYERS[name]()
    width = between.out_features if isinstance(between, nn.Linear) else HIDDEN
    return nn.Sequential(nn.Linear(IN_FEATURES, HIDDEN), between,
                         nn.Linear(width, 3, bias=name != "linear"))


def loss_model(name):
    outputs, last = head(name)
    return nn.Sequential(nn.Linear(IN_FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, outputs), *last)


def cases():
    """(name, model, loss, options of the optimizer)"""
    for name in LAYERS:
        yield f"layer-{name}", lambda name=name: layer_model(name), "mse", {"lr": 0.1}
    for name in LOSSES:
        yield f"loss-{name}", lambda name=name: loss_model(name), name, {"lr": 0.1}
    for name, options in OPTIMIZERS.items():
        yield f"optimizer-{name}", lambda: loss_model("mse"), "mse", {"lr": 0.03} | options


def main(folder):
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    for number, (name, make_model, loss, options) in enumerate(cases()):
        for kind, batch_size in BATCH_SIZES.items():
            seeds = range(1000 * number + 1, 1000 * number + 50)
            draws = (draw(seed, make_model, loss, options, batch_size) for seed in seeds)
            golden = next((golden for golden in draws if golden), None)
            if golden is None:
                sys.exit(f"{name}-{kind}: float32 strays from float64 with every seed")
            with open(os.path.join(folder, f"{name}-{kind}.json"), "w") as file:
                json.dump({"name": f"{name}-{kind}"} | golden, file)
                file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
