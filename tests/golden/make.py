#!/usr/bin/env python3
"""Golden trajectories: small trainings by PyTorch, one JSON file each, that every executor must
repeat; and the learning rates of PyTorch's schedulers.

    python3 tests/golden/make.py tests/golden/data [those whose name begins so]

Each row of the vocabulary (layers, losses, optimizers, their options) is trained for some steps, on
the full batch and on mini-batches in order. Initial parameters and data are float32, so that they
are the same numbers everywhere; the training itself runs in float64, so that what is written is the
right answer and not one rounding of it. Parameters stand in the order of nn.Sequential: weight,
then bias, layer by layer; running statistics follow them. The files hold what was drawn, so a newer
PyTorch need not draw the same. Dropout masks are not PyTorch's but those of kernels/random.h, which
are computed here a second time.
"""

import json
import os
import sys

import torch
from torch import nn

from layers import (AdaptiveAvgPool2d, Add, Causal, Concat, Dropout, Dropout2d, Embedding, Focal, Gru, LayerNorm, Lion, Mul,
                    Permute, Quantile, Reshape, Residual, Sin, Slice, describe, steps_begin)
from schedules import schedules

ROWS, IN_FEATURES, HIDDEN, STEPS, LONG_STEPS = 13, 5, 7, 20, 100
BATCH_SIZES = {"full": ROWS, "mini": 4}  # 13 = 4 + 4 + 4 + 1: the last batch is a small one
IMAGE = (2, 7, 5)
# What an executor may differ by. A case whose own float32 training strays further than half of that
# stands too near a kink, and is drawn again.
TOLERANCE, LONG_TOLERANCE = 1e-5, 1e-4

LAYERS = {
    "linear": lambda: nn.Linear(HIDDEN, 4),
    "relu": nn.ReLU,
    "leaky_relu": lambda: nn.LeakyReLU(0.1),
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "gelu": nn.GELU,
    "sin": Sin,
    "softmax": lambda: nn.Softmax(dim=1),
    "log_softmax": lambda: nn.LogSoftmax(dim=1),
    "elu": lambda: nn.ELU(0.7),
    "silu": nn.SiLU,
    "mish": nn.Mish,
    "hardswish": nn.Hardswish,
    "selu": nn.SELU,
    "hardsigmoid": nn.Hardsigmoid,
    "softsign": nn.Softsign,
    "softplus": lambda: nn.Softplus(1.5, 2.0),
    "dropout": lambda: Dropout(0.25),
    "batch_norm": lambda: nn.BatchNorm1d(HIDDEN, eps=1e-4, momentum=0.2),
    "layer_norm": lambda: LayerNorm(HIDDEN, eps=1e-4),
    "residual": lambda: Residual(nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), Residual(nn.Linear(HIDDEN, HIDDEN))),
}

# Layers of images: what stands before the last, linear one.
IMAGE_LAYERS = {
    "conv2d": lambda: [nn.Conv2d(2, 3, 3)],
    "conv2d-options": lambda: [nn.Conv2d(2, 4, (3, 2), (2, 1), (1, 2), (1, 2), groups=2, bias=False), nn.Tanh(),
                               nn.Conv2d(4, 4, 3, padding=1, groups=4)],
    "max_pool2d": lambda: [nn.Conv2d(2, 3, 3, padding=1), nn.MaxPool2d(2)],
    "max_pool2d-options": lambda: [nn.Conv2d(2, 3, 3, padding=1), nn.MaxPool2d((3, 2), (1, 2), (1, 1), (2, 1))],
    "avg_pool2d": lambda: [nn.Conv2d(2, 3, 3, padding=1), nn.AvgPool2d((3, 2), (2, 1), (1, 1))],
    "adaptive_avg_pool2d": lambda: [nn.Conv2d(2, 3, 3, padding=1), AdaptiveAvgPool2d((3, 2))],
    "dropout2d": lambda: [nn.Conv2d(2, 3, 3), Dropout2d(0.5)],
    "batch_norm-image": lambda: [nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Tanh()],
    "batch_norm-plain": lambda: [nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3, affine=False)],
    "layer_norm-image": lambda: [nn.Conv2d(2, 3, 3), LayerNorm((3, 5, 3))],
    "layer_norm-plain": lambda: [nn.Conv2d(2, 3, 3), LayerNorm((3, 5, 3), elementwise_affine=False)],
    "instance_norm": lambda: [nn.Conv2d(2, 3, 3), nn.InstanceNorm2d(3, affine=True), nn.Tanh()],
    "instance_norm-plain": lambda: [nn.Conv2d(2, 3, 3), nn.InstanceNorm2d(3, eps=1e-3), nn.Tanh()],
    "unfold": lambda: [nn.Unfold(3), nn.Conv1d(18, 3, 2), nn.Tanh()],
    "unfold-options": lambda: [nn.Conv2d(2, 3, 3, padding=1), nn.Unfold((3, 2), (2, 1), (1, 0), (1, 2)), nn.Tanh()],
    "softmax-image": lambda: [nn.Conv2d(2, 2, 3), nn.Flatten(), nn.Softmax(dim=1)],
    "residual-image": lambda: [Residual(nn.Conv2d(2, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU()), nn.MaxPool2d(2)],
    "flatten": lambda: [nn.Flatten(), nn.Linear(70, 6), nn.Tanh()],
    "cnn": lambda: [nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                    Residual(nn.Conv2d(4, 4, 3, padding=1), nn.SiLU()), nn.AvgPool2d(2, 1), nn.Flatten(),
                    nn.Linear(8, 6), LayerNorm(6), nn.GELU()],
}

# Graphs: what stands before the last, linear layer, for rows of 12 numbers.
GRAPHS = {
    "add": lambda: [Add([nn.Linear(12, 6), nn.Tanh()], [nn.Linear(12, 6)])],
    "mul": lambda: [Mul([nn.Linear(12, 6), nn.Tanh()], [nn.Linear(12, 6), nn.Sigmoid()])],
    "concat": lambda: [nn.Linear(12, 5), nn.Tanh(), Concat([nn.Linear(5, 3), Sin()], [])],
    "slice": lambda: [Concat([Slice(1, 0, 4), nn.Linear(4, 5), nn.Tanh()], [Slice(1, 4, 8), nn.Linear(8, 3)])],
    "reshape": lambda: [Reshape(2, 3, 2), nn.Conv2d(2, 3, 2), nn.Tanh()],
    "permute": lambda: [Reshape(4, 3), Permute(2, 1), nn.Conv1d(3, 4, 2), nn.Tanh(), Permute(2, 1)],
    "permute-image": lambda: [Reshape(2, 2, 3), Permute(3, 1, 2), nn.Conv2d(3, 2, 2), nn.Tanh()],
    "conv1d": lambda: [Reshape(2, 6), nn.Conv1d(2, 3, 3, padding=1), nn.Tanh()],
    "conv1d-options": lambda: [Reshape(2, 6), nn.Conv1d(2, 4, 2, stride=2, padding=1, dilation=2, groups=2, bias=False),
                               nn.Tanh(), nn.Conv1d(4, 4, 1, groups=4)],
    "conv1d-causal": lambda: [Reshape(2, 6), Causal(2, 4, 3), nn.Tanh(), Causal(4, 3, 2, dilation=2), nn.Tanh()],
    "conv1d-residual": lambda: [Reshape(2, 6), Add([Causal(2, 2, 3), nn.Tanh()], []), nn.BatchNorm1d(2)],
    "instance_norm": lambda: [Reshape(3, 4), nn.InstanceNorm1d(3, affine=True), nn.Tanh()],
    "gru": lambda: [Reshape(2, 6), Gru(2, 4)],
    "gru-plain": lambda: [Reshape(4, 3), Gru(4, 5, bias=False), nn.Tanh()],
    "gru-two": lambda: [Reshape(2, 6), Causal(2, 3, 2), Gru(3, 3), Add([Gru(3, 3)], []), nn.BatchNorm1d(3)],
    "branches": lambda: [Concat([Slice(1, 0, 9), Reshape(1, 3, 3), nn.Conv2d(1, 2, 2), nn.Tanh(), nn.Flatten()],
                                [Slice(1, 9, 3), nn.Linear(3, 4), nn.SiLU()]), nn.Linear(12, 6), nn.Tanh()],
    "unet": lambda: [nn.Linear(12, 8), nn.Tanh(), Concat([nn.Linear(8, 4), nn.Tanh(),
                                                          Concat([nn.Linear(4, 2), Sin(), nn.Linear(2, 4)], []),
                                                          nn.Linear(8, 8), nn.Tanh()], [])],
}

WEIGHTS = [0.5, 2.0, 1.0, 0.25]

# name: (the loss's type, the layer before it, outputs, its options, the loss itself)
LOSSES = {
    "mse": ("mse", None, 3, {}, nn.MSELoss),
    "mae": ("mae", None, 3, {}, nn.L1Loss),
    "huber": ("huber", None, 3, {}, lambda: nn.HuberLoss(delta=0.5)),
    "quantile": ("quantile", None, 3, {"loss_parameter": 0.25}, lambda: Quantile(0.25)),
    "bce": ("bce", "sigmoid", 3, {"loss_parameter": 1.0}, nn.BCELoss),
    "bce_with_logits": ("bce_with_logits", None, 3, {"loss_parameter": 1.0}, nn.BCEWithLogitsLoss),
    "cross_entropy": ("cross_entropy", None, 4, {}, nn.CrossEntropyLoss),
    "nll": ("nll", "log_softmax", 4, {}, nn.NLLLoss),
    "focal": ("focal", None, 4, {"loss_parameter": 2.0}, lambda: Focal(2.0, None)),
    "focal_class_weights": ("focal", None, 4, {"loss_parameter": 0.5, "class_weights": WEIGHTS},
                            lambda: Focal(0.5, torch.tensor(WEIGHTS))),
    "label_smoothing": ("cross_entropy", None, 4, {"label_smoothing": 0.1},
                        lambda: nn.CrossEntropyLoss(label_smoothing=0.1)),
    "class_weights": ("cross_entropy", None, 4, {"class_weights": WEIGHTS},
                      lambda: nn.CrossEntropyLoss(weight=torch.tensor(WEIGHTS))),
    "class_weights_smoothed": ("cross_entropy", None, 4, {"class_weights": WEIGHTS, "label_smoothing": 0.2},
                               lambda: nn.CrossEntropyLoss(weight=torch.tensor(WEIGHTS), label_smoothing=0.2)),
    "nll_class_weights": ("nll", "log_softmax", 4, {"class_weights": WEIGHTS},
                          lambda: nn.NLLLoss(weight=torch.tensor(WEIGHTS))),
}

# name: (type, torch's options, ours)
OPTIMIZERS = {
    "sgd": ("sgd", {"lr": 0.03}, {}),
    "momentum": ("sgd", {"lr": 0.03, "momentum": 0.9}, {}),
    "nesterov": ("sgd", {"lr": 0.03, "momentum": 0.8, "nesterov": True}, {}),
    "weight_decay": ("sgd", {"lr": 0.03, "weight_decay": 0.1}, {}),
    "momentum_weight_decay": ("sgd", {"lr": 0.03, "momentum": 0.5, "weight_decay": 0.05}, {}),
    "nesterov_weight_decay": ("sgd", {"lr": 0.03, "momentum": 0.9, "nesterov": True, "weight_decay": 0.02}, {}),
    "adam": ("adam", {"lr": 0.01}, {}),
    "adam_options": ("adam", {"lr": 0.02, "betas": (0.8, 0.99), "eps": 1e-4, "weight_decay": 0.1}, {}),
    "adamw": ("adamw", {"lr": 0.01}, {}),
    "adamw_options": ("adamw", {"lr": 0.02, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.2}, {}),
    "rmsprop": ("rmsprop", {"lr": 0.01}, {}),
    "rmsprop_momentum": ("rmsprop", {"lr": 0.003, "alpha": 0.9, "momentum": 0.8, "weight_decay": 0.1}, {}),
    "rmsprop_centered": ("rmsprop", {"lr": 0.003, "alpha": 0.9, "eps": 1e-3, "centered": True}, {}),
    "rmsprop_all": ("rmsprop", {"lr": 0.003, "alpha": 0.9, "eps": 1e-3, "centered": True, "momentum": 0.5}, {}),
    "adagrad": ("adagrad", {"lr": 0.05}, {}),
    "adagrad_options": ("adagrad", {"lr": 0.05, "lr_decay": 0.1, "eps": 1e-3, "weight_decay": 0.1}, {}),
    "lion": ("lion", {"lr": 0.01}, {}),
    "lion_options": ("lion", {"lr": 0.01, "betas": (0.7, 0.9), "weight_decay": 0.3}, {}),
    "nadam": ("nadam", {"lr": 0.003}, {}),
    "nadam_options": ("nadam", {"lr": 0.02, "betas": (0.8, 0.99), "eps": 1e-4, "weight_decay": 0.1,
                                "momentum_decay": 0.3}, {}),
    "adamax": ("adamax", {"lr": 0.01}, {}),
    "adamax_options": ("adamax", {"lr": 0.02, "betas": (0.8, 0.9), "eps": 1e-4, "weight_decay": 0.1}, {}),
    "clip_norm": ("sgd", {"lr": 0.1}, {"clip_norm": 0.4}),
    "clip_value": ("sgd", {"lr": 0.1, "momentum": 0.5}, {"clip_value": 0.05}),
    "clip_both": ("adam", {"lr": 0.01}, {"clip_norm": 0.5, "clip_value": 0.1}),
    "frozen": ("sgd", {"lr": 0.1}, {"clip_norm": 0.3, "frozen": [0]}),
    "no_decay_on_biases": ("adamw", {"lr": 0.02, "weight_decay": 0.3}, {"decay_all": False}),
}
DEFAULTS = {
    "sgd": {"momentum": 0.0, "nesterov": False, "weight_decay": 0.0},
    "adam": {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0},
    "adamw": {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01},
    "rmsprop": {"alpha": 0.99, "eps": 1e-8, "momentum": 0.0, "centered": False, "weight_decay": 0.0},
    "adagrad": {"lr_decay": 0.0, "eps": 1e-10, "weight_decay": 0.0},
    "adamax": {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0},
    "lion": {"betas": (0.9, 0.99), "weight_decay": 0.0},
    "nadam": {"betas": (0.9, 0.999), "eps": 1e-8, "momentum_decay": 4e-3, "weight_decay": 0.0},
}
TORCH = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "lion": Lion,
    "nadam": torch.optim.NAdam,
    "adamax": torch.optim.Adamax,
}


class Case:
    """What is trained, but for the numbers that are drawn."""

    def __init__(self, name, make_model, loss="mse", optimizer=("sgd", {"lr": 0.1}, {}), shape=(IN_FEATURES, 1, 1),
                 rows=ROWS, steps=STEPS, tolerance=TOLERANCE, batch_sizes=BATCH_SIZES, embeddings=0):
        self.name, self.make_model, self.loss, self.optimizer, self.shape = name, make_model, loss, optimizer, shape
        self.rows, self.steps, self.tolerance, self.embeddings = rows, steps, tolerance, embeddings
        self.batch_sizes = batch_sizes


def flat(tensors):
    tensors = [tensor.detach().reshape(-1) for tensor in tensors]
    return torch.cat(tensors) if tensors else torch.zeros(0)


def buffers(model):
    return [buffer for name, buffer in model.named_buffers() if "running" in name]


def state(model):
    return torch.cat([flat(model.parameters()), flat(buffers(model))])


def targets(loss, rows):
    kind, _, outputs, _, _ = LOSSES[loss]
    if kind in ("cross_entropy", "nll", "focal"):
        return torch.randint(0, outputs, (rows,))
    if kind in ("bce", "bce_with_logits"):
        return torch.randint(0, 2, (rows, outputs)).float()
    return torch.randn(rows, outputs)


def misclassified(loss, output, y):
    kind = LOSSES[loss][0]
    if kind in ("cross_entropy", "nll", "focal"):
        return int((output.argmax(dim=1) != y).sum())
    if kind == "bce":
        return int(((output > 0.5) != (y > 0.5)).sum())
    if kind == "bce_with_logits":
        return int(((output > 0) != (y > 0.5)).sum())
    return 0


def parameter_groups(model, optimizer):
    """[(parameter, its weight decay, frozen)], in order."""
    kind, options, ours = optimizer
    decay = options.get("weight_decay", DEFAULTS[kind]["weight_decay"])
    rows = []
    for name, parameter in model.named_parameters():
        frozen = int(name.split(".")[0]) in ours.get("frozen", [])
        spared = not ours.get("decay_all", True) and parameter.dim() == 1
        rows.append((parameter, 0.0 if spared else decay, frozen))
    return rows


def make_optimizer(model, optimizer):
    kind, options, _ = optimizer
    groups = [{"params": [parameter], "weight_decay": decay}
              for parameter, decay, frozen in parameter_groups(model, optimizer) if not frozen]
    return TORCH[kind](groups, **options)


def train(case, model, initial, batch_size, x, y, dtype):
    """The case's steps from `initial`: losses and errors, each before its update."""
    model.to(dtype)
    # The model's parameters become views of what they are set from: a copy, which training changes.
    parameters = sum(parameter.numel() for parameter in model.parameters())
    nn.utils.vector_to_parameters(initial[:parameters].to(dtype, copy=True), model.parameters())
    at = parameters
    for buffer in buffers(model):
        buffer.copy_(initial[at:at + buffer.numel()])
        at += buffer.numel()
    x = x if case.embeddings else x.to(dtype)
    y = y if y.dtype == torch.int64 else y.to(dtype)
    criterion = LOSSES[case.loss][4]().to(dtype)
    optimizer = make_optimizer(model, case.optimizer)
    trained = [parameter for parameter, _, frozen in parameter_groups(model, case.optimizer) if not frozen]
    ours = case.optimizer[2]
    batches = list(zip(x.split(batch_size), y.split(batch_size)))
    losses, errors = [], []
    model.train()
    for step in range(case.steps):
        steps_begin(model, step)
        batch_x, batch_y = batches[step % len(batches)]
        output = model(batch_x)
        value = criterion(output, batch_y)
        losses.append(value.item())
        errors.append(misclassified(case.loss, output.detach(), batch_y))
        model.zero_grad()
        value.backward()
        if "clip_norm" in ours:
            nn.utils.clip_grad_norm_(trained, ours["clip_norm"])
        if "clip_value" in ours:
            nn.utils.clip_grad_value_(trained, ours["clip_value"])
        optimizer.step()
    model.eval()
    with torch.no_grad():
        return losses, errors, state(model), model(x)


def strays(one, other):
    one, other = torch.as_tensor(one).double(), torch.as_tensor(other).double()
    return ((one - other).abs().max() / other.pow(2).mean().sqrt()).item()


def numbers(tensor, digits):
    return [float(f"{value:.{digits}g}") for value in tensor.reshape(-1).tolist()]


def written_groups(model, optimizer):
    rows, first = [], 0
    for parameter, decay, frozen in parameter_groups(model, optimizer):
        row = {"first": first, "count": parameter.numel(), "weight_decay": decay, "frozen": frozen}
        first += parameter.numel()
        if rows and (rows[-1]["weight_decay"], rows[-1]["frozen"]) == (decay, frozen):
            rows[-1]["count"] += row["count"]
        else:
            rows.append(row)
    return rows


def written_optimizer(optimizer):
    kind, options, ours = optimizer
    row = {"type": kind} | DEFAULTS[kind] | options
    if "betas" in row:
        row["beta1"], row["beta2"] = row.pop("betas")
    for name in ("lr_decay", "momentum_decay"):
        if name in row:
            row["decay"] = row.pop(name)
    row.pop("weight_decay")  # stands with the groups
    return row | {key: value for key, value in ours.items() if key.startswith("clip")}


def draw(case, seed, batch_size):
    torch.manual_seed(seed)
    model = case.make_model()
    initial = state(model)
    shape = (case.rows, *case.shape)
    if case.embeddings:
        x = torch.randint(0, case.embeddings, shape[:2])
    elif case.shape[1:] == (1, 1):
        x = torch.randn(shape[:2])
    else:
        x = (torch.randn(shape) * 16).round() / 16  # few digits: an image is long
    y = targets(case.loss, case.rows)
    ops = describe(model, case.shape, seed)
    single = train(case, model, initial, batch_size, x, y, torch.float32)
    double = train(case, model, initial, batch_size, x, y, torch.float64)
    near = max(strays(single[i], double[i]) for i in (0, 2, 3)) < case.tolerance / 2
    if not near or single[1] != double[1]:
        return None
    losses, errors, trained, output = double
    kind, _, _, options, _ = LOSSES[case.loss]
    return {
        "torch": torch.__version__.split("+")[0],
        "seed": seed,
        "tolerance": case.tolerance,
        "in": list(case.shape),
        "ops": ops,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "buffers": sum(buffer.numel() for buffer in buffers(model)),
        "loss": kind,
        "loss_parameter": 0.5,
    } | options | {
        "optimizer": written_optimizer(case.optimizer),
        "groups": written_groups(model, case.optimizer),
        "rows": case.rows,
        "batch_size": batch_size,
        "x": x.reshape(-1).tolist() if case.embeddings else numbers(x, 9),
        "y": y.reshape(-1).tolist() if y.dtype == torch.int64 else numbers(y, 9),
        "initial": numbers(initial, 9),
        "losses": [float(f"{value:.10g}") for value in losses],
        "errors": errors,
        "trained": numbers(trained, 10),
        "output": numbers(output, 10),
    }


def layer_model(name):
    between = LAYERS[name]()
    width = between.out_features if isinstance(between, nn.Linear) else HIDDEN
    return nn.Sequential(nn.Linear(IN_FEATURES, HIDDEN), between,
                         nn.Linear(width, 3, bias=name != "linear"))


def image_model(name):
    layers = IMAGE_LAYERS[name]()
    with torch.no_grad():
        body = nn.Sequential(*layers).eval()
        out = body(torch.zeros(1, *IMAGE))
    if out.dim() > 2:
        layers.append(nn.Flatten())
    return nn.Sequential(*layers, nn.Linear(out.numel(), 3))


def graph_model(name):
    layers = GRAPHS[name]()
    with torch.no_grad():
        out = nn.Sequential(*layers).eval()(torch.zeros(2, 12))
    if out.dim() > 2:
        layers.append(nn.Flatten())
    return nn.Sequential(*layers, nn.Linear(out[0].numel(), 3))


def embedding_model():
    return nn.Sequential(Embedding(6, 4), nn.Tanh(), nn.Linear(12, 3))


def loss_model(name):
    _, last, outputs, _, _ = LOSSES[name]
    return nn.Sequential(nn.Linear(IN_FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, outputs),
                         *([] if last is None else [LAYERS[last]()]))


def small_cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 2, padding=1), nn.SiLU(),
                         nn.Flatten(), nn.Linear(96, 4))


def cases():
    for name in LAYERS:
        # A batch norm needs two rows.
        sizes = {"full": ROWS, "mini": 5} if "norm" in name else BATCH_SIZES
        yield Case(f"layer-{name}", lambda name=name: layer_model(name), batch_sizes=sizes)
    for name in IMAGE_LAYERS:
        sizes = {"full": ROWS, "mini": 5}
        yield Case(f"layer-{name}", lambda name=name: image_model(name), shape=IMAGE, batch_sizes=sizes,
                   optimizer=("sgd", {"lr": 0.05}, {}))
    yield Case("layer-embedding", embedding_model, shape=(3, 1, 1), embeddings=6)
    for name in LOSSES:
        yield Case(f"loss-{name}", lambda name=name: loss_model(name), loss=name)
    for name, optimizer in OPTIMIZERS.items():
        yield Case(f"optimizer-{name}", lambda: loss_model("mse"), optimizer=optimizer)
    for name in TORCH:
        yield Case(f"cnn-{name}", small_cnn, loss="cross_entropy", optimizer=OPTIMIZERS[name], shape=(1, 8, 8), rows=24,
                   steps=LONG_STEPS, tolerance=LONG_TOLERANCE, batch_sizes={"mini": 8})
    for name in GRAPHS:
        yield Case(f"graph-{name}", lambda name=name: graph_model(name), shape=(12, 1, 1),
                   batch_sizes={"full": ROWS, "mini": 5})


def write(folder, name, row):
    with open(os.path.join(folder, f"{name}.json"), "w") as file:
        json.dump(row, file)
        file.write("\n")


def main(folder, only=""):
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    missing = []
    for number, case in enumerate(cases()):
        if not case.name.startswith(only):
            continue
        for kind, batch_size in case.batch_sizes.items():
            seeds = range(1000 * number + 1, 1000 * number + 200)
            draws = (draw(case, seed, batch_size) for seed in seeds)
            golden = next((golden for golden in draws if golden), None)
            if golden is None:
                missing.append(f"{case.name}-{kind}")
                continue
            write(folder, f"{case.name}-{kind}", {"name": f"{case.name}-{kind}"} | golden)
    for name, row in [] if only else schedules():
        write(folder, f"schedule_{name}", row)
    if missing:
        sys.exit(f"float32 strays from float64 with every seed: {', '.join(missing)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
