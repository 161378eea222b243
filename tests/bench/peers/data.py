"""data.py: a work's rows as every peer trains on them, and the judge of what came out. NumPy alone.

A work's file is an NPZ with x_train, y_train, x_test, y_test; "standardize" and "normalize" mean what
they mean in a job."""

import math

import numpy as np

import networks


class Table:
    """x, y, x_test, y_test as they are trained on: float32, class numbers as int64; y_mean and
    y_deviation undo the scaling of y."""


def load(work):
    table = Table()
    with np.load(work["file"]) as file:
        x, y, x_test, y_test = (file[name] for name in ("x_train", "y_train", "x_test", "y_test"))
    if work.get("normalize"):
        mean, std = work["normalize"]["mean"], work["normalize"]["std"]
        x, x_test = ((part.astype(np.float32) / 255 - mean) / std for part in (x, x_test))
    if "x" in work.get("standardize", ()):
        mean, deviation = x.mean(0), x.std(0)
        deviation[deviation == 0] = 1
        x, x_test = (x - mean) / deviation, (x_test - mean) / deviation
    table.y_mean, table.y_deviation = 0.0, 1.0
    if "y" in work.get("standardize", ()):
        table.y_mean, table.y_deviation = float(y.mean()), float(y.std())
        y, y_test = ((part - table.y_mean) / table.y_deviation for part in (y, y_test))
    shape = [-1] + work["shape"]
    table.x, table.x_test = (np.ascontiguousarray(part, np.float32).reshape(shape) for part in (x, x_test))
    if work["loss"] in ("cross_entropy", "nll"):
        table.y, table.y_test = y.astype(np.int64).ravel(), y_test.astype(np.int64).ravel()
    else:
        table.y, table.y_test = (part.astype(np.float32).reshape(len(part), -1)
                                 for part in (y, y_test))
    return table


def first_weights(work):
    """{torch's name: array}, or nothing where each peer draws its own."""
    if not work.get("first"):
        return {}
    with np.load(work["first"]) as file:
        return {name: file[name] for name in file.files}


def batch_rows(work, table):
    return len(table.x) if work["batch_size"] == "full" else work["batch_size"]


def evaluated_rows(work):
    """Rows that go through the network at once after the training: a layer's values stay below 1 GB."""
    values = max(math.prod(place.out) for place in networks.walk(work["layers"], work["shape"]))
    return max(1, min(2000, (1 << 28) // values))


def _log_softmax(out):
    shifted = out - out.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def _loss(work, out, y):
    """In double, as the formula stands in a textbook."""
    if work["loss"] == "mse":
        return float(((out - y) ** 2).mean())
    if work["loss"] == "bce_with_logits":
        return float((np.logaddexp(0, out) - out * y).mean())
    log_probability = out if work["loss"] == "nll" else _log_softmax(out)
    return float(-log_probability[np.arange(len(y)), y].mean())


def _roc_auc(score, y):
    """The share of pairs (1, 0) that are in the right order; ties count half."""
    one, zero = score[y == 1], np.sort(score[y == 0])
    below = np.searchsorted(zero, one, "left") + np.searchsorted(zero, one, "right")
    return float(below.sum() / 2 / (len(one) * len(zero)))


def judge(work, table, out_train, out_test):
    """What a job's metrics say, from the network's outputs: [rows, out_features]."""
    answer = {}
    out_test = np.asarray(out_test, np.float64)
    if out_train is not None:
        out_train = np.asarray(out_train, np.float64)
        answer["train_loss"] = _loss(work, out_train, table.y)
    if work["loss"] == "mse":
        answer["test_mse"] = float((((out_test - table.y_test) * table.y_deviation) ** 2).mean())
    elif work["loss"] == "bce_with_logits":
        answer["test_accuracy"] = float(((out_test > 0) == (table.y_test > 0.5)).mean())
        answer["test_roc_auc"] = _roc_auc(out_test.ravel(), table.y_test.ravel())
    else:
        answer["test_accuracy"] = float((out_test.argmax(1) == table.y_test).mean())
        if out_train is not None:
            answer["train_error"] = float((out_train.argmax(1) != table.y).mean())
    return answer
