"""Layers and an optimizer that PyTorch lacks, or has in another form; and how a model is written
down for the tests: one op after the other, with shapes and offsets, as kernels/program.h says."""

import torch
from torch import nn

DROPOUT = 4  # kernels/random.h: EP_RANDOM_DROPOUT
MASK32 = (1 << 32) - 1


def philox(key, counter):
    """Philox4x32-10 of J. Salmon et al., on lists of 2 and 4 words."""
    key, counter = list(key), list(counter)
    for _ in range(10):
        low, high = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [high >> 32 ^ counter[1] ^ key[0], high & MASK32, low >> 32 ^ counter[3] ^ key[1], low & MASK32]
        key = [(key[0] + 0x9E3779B9) & MASK32, (key[1] + 0xBB67AE85) & MASK32]
    return counter


def dropout_kept(seed, step, layer, elements, p):
    """Which of the elements are kept: [elements] of booleans."""
    kept = []
    for index in range((elements + 3) // 4):
        at = layer << 40 | index
        words = philox((seed & MASK32, seed >> 32),
                       (at & MASK32, at >> 32, step & MASK32, DROPOUT << 28 ^ (step >> 32)))
        kept += [(word >> 8) * 2.0**-24 >= p for word in words]
    return kept[:elements]


class Sin(nn.Module):
    def forward(self, x):
        return torch.sin(x)


class Dropout(nn.Module):
    """Drops each element, by the masks of kernels/random.h."""

    def __init__(self, p):
        super().__init__()
        self.p, self.seed, self.layer, self.step = p, 0, 0, 0

    def masked(self, x):
        return x

    def forward(self, x):
        if not self.training:
            return x
        of = self.masked(x)
        kept = dropout_kept(self.seed, self.step, self.layer, of.numel(), self.p)
        return x * (torch.tensor(kept, dtype=x.dtype).reshape(of.shape) / (1 - self.p))


class Dropout2d(Dropout):
    """Drops whole channels of a row."""

    def masked(self, x):
        return x[:, :, :1, :1]


class LayerNorm(nn.LayerNorm):
    pass


class AdaptiveAvgPool2d(nn.AdaptiveAvgPool2d):
    pass


class Embedding(nn.Embedding):
    """[rows, columns] of whole numbers -> [rows, columns * dimension]."""

    def forward(self, x):
        return super().forward(x).flatten(1)


class Residual(nn.Module):
    """The block's output, added to its input. Its layers' names begin with their number."""

    def __init__(self, *layers):
        super().__init__()
        self.block = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.block(x)


class Branches(nn.Module):
    """What two lists of layers make of one value (an empty one: the value itself), joined. A subclass joins."""

    def __init__(self, left, right):
        super().__init__()
        self.left, self.right = nn.Sequential(*left), nn.Sequential(*right)

    def forward(self, x):
        return self.join(self.left(x), self.right(x))


class Add(Branches):
    def join(self, left, right):
        return left + right


class Mul(Branches):
    def join(self, left, right):
        return left * right


class Concat(Branches):
    def join(self, left, right):
        return torch.cat([left, right], dim=1)


class Slice(nn.Module):
    def __init__(self, dim, start, length):
        super().__init__()
        self.dim, self.start, self.length = dim, start, length

    def forward(self, x):
        return x.narrow(self.dim, self.start, self.length)


class Reshape(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return x.reshape(len(x), *self.shape)


class Permute(nn.Module):
    def __init__(self, *dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return x.permute(0, *self.dims)


class Causal(nn.Conv1d):
    """Padded on the left alone."""

    def forward(self, x):
        return super().forward(nn.functional.pad(x, (self.dilation[0] * (self.kernel_size[0] - 1), 0)))


class Gru(nn.GRU):
    """Of one layer, over [rows, channels, length]."""

    def __init__(self, channels, hidden, bias=True):
        super().__init__(channels, hidden, bias=bias, batch_first=True)

    def forward(self, x):
        return super().forward(x.permute(0, 2, 1))[0].permute(0, 2, 1)


class Focal(nn.Module):
    """T.-Y. Lin et al., "Focal Loss for Dense Object Detection", with a weight for each class."""

    def __init__(self, gamma, weight):
        super().__init__()
        self.gamma = gamma
        self.register_buffer("weight", weight)

    def forward(self, output, target):
        log_p = output.log_softmax(dim=1).gather(1, target[:, None])[:, 0]
        weight = torch.ones_like(log_p) if self.weight is None else self.weight[target]
        return (weight * (1 - log_p.exp()) ** self.gamma * -log_p).sum() / weight.sum()


class Quantile(nn.Module):
    """The pinball loss."""

    def __init__(self, q):
        super().__init__()
        self.q = q

    def forward(self, output, target):
        difference = target - output
        return torch.maximum(self.q * difference, (self.q - 1) * difference).mean()


class Lion(torch.optim.Optimizer):
    """X. Chen et al., "Symbolic Discovery of Optimization Algorithms", algorithm 2."""

    def __init__(self, groups, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(groups, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                direction = (beta1 * m + (1 - beta1) * p.grad).sign()
                p.sub_(group["lr"] * (direction + group["weight_decay"] * p))
                m.mul_(beta2).add_((1 - beta2) * p.grad)


def steps_begin(model, step):
    for layer in model.modules():
        if isinstance(layer, Dropout):
            layer.step = step


def pair(value):
    return list(value) if isinstance(value, (tuple, list)) else [value, value]


NAMES = {
    nn.Linear: "linear", nn.ReLU: "relu", nn.LeakyReLU: "leaky_relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid",
    nn.GELU: "gelu", Sin: "sin", nn.Softmax: "softmax", nn.LogSoftmax: "log_softmax", nn.ELU: "elu",
    nn.SiLU: "silu", nn.Mish: "mish", nn.Hardswish: "hardswish", nn.SELU: "selu",
    nn.Hardsigmoid: "hardsigmoid", nn.Softsign: "softsign", nn.Softplus: "softplus", nn.Flatten: "flatten", nn.Conv2d: "conv2d",
    nn.MaxPool2d: "max_pool2d", nn.AvgPool2d: "avg_pool2d", AdaptiveAvgPool2d: "adaptive_avg_pool2d",
    Dropout: "dropout", Dropout2d: "dropout2d", nn.BatchNorm1d: "batch_norm", nn.BatchNorm2d: "batch_norm",
    LayerNorm: "layer_norm", Embedding: "embedding", Residual: "residual", Add: "add", Mul: "mul", Concat: "concat",
    Slice: "slice", Reshape: "reshape", Permute: "permute", nn.Conv1d: "conv1d", Causal: "conv1d",
    nn.Unfold: "unfold", nn.InstanceNorm1d: "instance_norm", nn.InstanceNorm2d: "instance_norm", Gru: "gru",
}


def options(layer):
    """The fields of ep_op that belong to the layer's type."""
    if isinstance(layer, nn.LeakyReLU):
        return {"negative_slope": layer.negative_slope}
    if isinstance(layer, nn.ELU):
        return {"alpha": layer.alpha}
    if isinstance(layer, nn.Softplus):
        return {"beta": layer.beta, "threshold": layer.threshold}
    if isinstance(layer, Dropout):
        return {"p": layer.p}
    if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)):
        return {"eps": layer.eps, "momentum": layer.momentum}
    if isinstance(layer, (LayerNorm, nn.InstanceNorm1d, nn.InstanceNorm2d)):
        return {"eps": layer.eps}
    if isinstance(layer, Embedding):
        return {"embeddings": layer.num_embeddings}
    if isinstance(layer, nn.Conv1d):
        causal = isinstance(layer, Causal)
        padding = layer.dilation[0] * (layer.kernel_size[0] - 1) if causal else layer.padding[0]
        return {"kernel": [1, layer.kernel_size[0]], "stride": [1, layer.stride[0]], "padding": [0, padding],
                "dilation": [1, layer.dilation[0]], "groups": layer.groups, "causal": causal}
    if isinstance(layer, Slice):
        return {"axis": layer.dim - 1, "start": layer.start}
    if isinstance(layer, Permute):  # of two sides: channels and width
        sides = {1: 0, 2: 2} if len(layer.dims) == 2 else {1: 0, 2: 1, 3: 2}
        order = [sides[dim] for dim in layer.dims]
        return {"order": [order[0], 1, order[1]] if len(order) == 2 else order}
    if isinstance(layer, (nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d, nn.Unfold)):
        window = {"kernel": pair(layer.kernel_size), "stride": pair(layer.stride), "padding": pair(layer.padding),
                  "dilation": pair(getattr(layer, "dilation", 1))}
        return window | ({"groups": layer.groups} if isinstance(layer, nn.Conv2d) else {})
    return {}


class Walk:
    """Goes through a model as the plan does."""

    def __init__(self, seed):
        self.seed, self.ops, self.floats, self.buffers = seed, [], 0, 0
        self.value = 0  # what the next layer reads: 0 the input, i + 1 what op i makes

    def take(self, tensor):
        if tensor is None:
            return -1
        self.floats += tensor.numel()
        return self.floats - tensor.numel()

    def branches(self, layer, x, row):
        """The two lists, each from the value that is there; the row then reads what they end in."""
        value, ends = self.value, []
        for children in (layer.left, layer.right):
            self.value, inner = value, x
            for child in children:
                inner = self.layer(child, inner)
            ends.append((self.value, inner))
        (left, y), (right, z) = ends
        row |= {"in": shape_of(y), "input": [left, right]}
        if isinstance(layer, Concat):
            row |= {"axis": 0, "length": [y.shape[1], z.shape[1]]}
        return layer.join(y, z)

    def layer(self, layer, x):
        row = {"type": NAMES[type(layer)], "in": shape_of(x), "source": -1, "input": [self.value]}
        if isinstance(layer, Residual):
            row["source"] = len(self.ops) - 1
            inner = x
            for child in layer.block:
                inner = self.layer(child, inner)
            y, row["in"] = x + inner, shape_of(inner)
        elif isinstance(layer, Branches):
            y = self.branches(layer, x, row)
        else:
            y = layer(x)
        if row["input"] == [len(self.ops)] or isinstance(layer, Residual):
            del row["input"]
        if isinstance(layer, nn.GRU):
            row["parameter"] = [self.take(parameter) for parameter in layer.parameters()]
        else:
            row["weight"] = self.take(getattr(layer, "weight", None))
            row["bias"] = self.take(getattr(layer, "bias", None))
        row["running"] = -1
        if getattr(layer, "running_mean", None) is not None:
            row["running"] = self.buffers
            self.buffers += 2 * layer.num_features
        if isinstance(layer, Dropout):
            layer.seed, layer.layer = self.seed, len(self.ops)
        row |= {"out": shape_of(y), "layer": len(self.ops)} | options(layer)
        self.ops.append(row)
        self.value = len(self.ops)
        return y


def shape_of(x):
    if x.dim() == 3:  # [rows, channels, length]
        return [x.shape[1], 1, x.shape[2]]
    return (list(x.shape[1:]) + [1, 1])[:3]


def describe(model, shape, seed):
    """The model's ops; tells each dropout its seed and its number."""
    walk = Walk(seed)
    embedded = isinstance(model[0], Embedding)
    x = torch.zeros((1, *shape) if shape[1:] != (1, 1) else (1, shape[0]), dtype=torch.int64 if embedded else None)
    model.eval()
    with torch.no_grad():
        for layer in model:
            x = walk.layer(layer, x)
    return walk.ops
