"""torch_networks.py: a work's network, optimizer and loss in PyTorch, for those who measure it."""

import torch
from torch import nn
from torch.nn import functional

import networks
from peers import data

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU, "silu": nn.SiLU,
               "flatten": nn.Flatten}


class Residual(nn.Sequential):
    """The block's output, added to its input."""

    def forward(self, x):
        return x + super().forward(x)


class Embedding(nn.Embedding):
    """[rows, columns] of whole numbers -> [rows, columns * dimension]."""

    def forward(self, x):
        return super().forward(x).flatten(1)


def layer_module(layer, shape):
    """One layer on an input of that shape."""
    kind = layer["type"]
    if kind == "linear":
        return nn.Linear(shape[0], layer["out_features"], bias=layer.get("bias", True))
    if kind == "conv2d":
        return nn.Conv2d(shape[0], layer["out_channels"], layer["kernel_size"], stride=layer.get("stride", 1),
                         padding=layer.get("padding", 0), groups=layer.get("groups", 1), bias=layer.get("bias", True))
    if kind == "embedding":
        return Embedding(layer["num_embeddings"], layer["embedding_dim"])
    if kind in networks.POOLS:
        pool = nn.MaxPool2d if kind == "max_pool2d" else nn.AvgPool2d
        return pool(layer["kernel_size"], layer.get("stride"), layer.get("padding", 0))
    if kind == "adaptive_avg_pool2d":
        return nn.AdaptiveAvgPool2d(layer["output_size"])
    if kind == "batch_norm":
        return nn.BatchNorm2d(shape[0]) if len(shape) == 3 else nn.BatchNorm1d(shape[0])
    if kind == "layer_norm":
        return nn.LayerNorm(shape)
    if kind in ("dropout", "dropout2d"):
        return (nn.Dropout if kind == "dropout" else nn.Dropout2d)(layer["p"])
    if kind == "log_softmax":
        return nn.LogSoftmax(1)
    if kind == "residual":
        return Residual(*modules(layer["layers"], shape))
    return ACTIVATIONS[kind]()


def modules(layers, shape):
    for layer in layers:
        yield layer_module(layer, shape)
        shape = networks.out_shape(layer, shape)


def module(work):
    """The work's layers as an nn.Sequential, with the work's first weights."""
    torch.manual_seed(1)
    net = nn.Sequential(*modules(work["layers"], list(work["shape"])))
    first = {name: torch.tensor(value) for name, value in data.first_weights(work).items()}
    if first:
        unknown = net.load_state_dict(first, strict=False)
        missing = [name for name in unknown.missing_keys if not name.endswith("num_batches_tracked")]
        if missing or unknown.unexpected_keys:
            raise ValueError(f"first weights: {missing} are missing, {unknown.unexpected_keys} unknown")
    return net


def optimizer_of(work, parameters, cuda, recorded):
    """The work's optimizer; recorded: within a graph."""
    given = work.get("optimizer") or {"type": "sgd", "lr": work["lr"], "momentum": work["momentum"]}
    options = {name: value for name, value in given.items() if name != "type"}
    if cuda:
        options["fused"] = True
        if given["type"] != "sgd" and recorded:
            options["capturable"] = True
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[given["type"]]
    return kind(parameters, **options)


LOSSES = {"mse": functional.mse_loss, "bce_with_logits": functional.binary_cross_entropy_with_logits,
          "cross_entropy": functional.cross_entropy, "nll": functional.nll_loss}
