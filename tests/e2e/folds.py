#!/usr/bin/env python3
"""folds.py URL DEVICE [FOLDER]: cross-validates linear and logistic models fold by fold, and compares each fold's
validation metrics with those of the same rows' solution: normal equations, Newton's method. The folds are worked out
here, from kernels/random.h and engine/data/prepare/split.h; where scikit-learn is installed, with its cross_val_score
too. FOLDER holds linear.json and logistic.json."""

import json
import math
import os
import random
import sys
import urllib.request

URL, DEVICE = sys.argv[1:3]
FOLDER = sys.argv[3] if len(sys.argv) > 3 else ""
TOLERANCE = 1e-3
SPLIT = 2  # EP_RANDOM_SPLIT
MASK = 0xFFFFFFFF


# The permutation of kernels/random.h.
def philox(key, counter):
    key0, key1 = key & MASK, key >> 32
    for _ in range(10):
        product0, product1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(product1 >> 32) ^ counter[1] ^ key0, product1 & MASK,
                   (product0 >> 32) ^ counter[3] ^ key1, product0 & MASK]
        key0, key1 = (key0 + 0x9E3779B9) & MASK, (key1 + 0xBB67AE85) & MASK
    return counter


def mix(value, key, bits):
    hashed = ((value + 1) * 0x9E3779B1 & MASK) ^ key
    hashed = ((hashed ^ hashed >> 16) * 0x85EBCA6B) & MASK
    hashed = ((hashed ^ hashed >> 13) * 0xC2B2AE35) & MASK
    return (hashed ^ hashed >> 16) & ((1 << bits) - 1)


def permutation(seed, rows):
    bits = max(2, (rows - 1).bit_length())
    rounds = 24 if bits <= 7 else 8
    keys = [word for i in range(rounds // 4) for word in philox(seed, [i, 0, 0, SPLIT << 28])]
    left_bits, right_bits = bits // 2, bits - bits // 2
    order = []
    for index in range(rows):
        value = index
        while True:
            left, right = value >> right_bits, value & ((1 << right_bits) - 1)
            for i in range(0, rounds, 2):
                left ^= mix(right, keys[i], left_bits)
                right ^= mix(left, keys[i + 1], right_bits)
            value = left << right_bits | right
            if value < rows:
                break
        order.append(value)
    return order


def folds_of(seed, rows, folds, classes=None):
    """The rows of each fold. classes: [rows] where the folds are stratified."""
    order = permutation(seed, rows)
    if classes:
        order.sort(key=lambda row: classes[row])  # stable: within a class in the permutation's order
    return [order[fold::folds] for fold in range(folds)]


# The models, fitted to their end.
def solve(matrix, right):
    """Gaussian elimination with pivots."""
    rows = [line[:] + [value] for line, value in zip(matrix, right)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda j: abs(rows[j][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(i + 1, size):
            factor = rows[j][i] / rows[i][i]
            for k in range(i, size + 1):
                rows[j][k] -= factor * rows[i][k]
    solution = [0.0] * size
    for i in reversed(range(size)):
        known = sum(rows[i][k] * solution[k] for k in range(i + 1, size))
        solution[i] = (rows[i][size] - known) / rows[i][i]
    return solution


def scaling(x):
    """Mean and deviation of each column of the training rows."""
    found = []
    for column in zip(*x):
        mean = sum(column) / len(column)
        found.append((mean, math.sqrt(sum((v - mean) ** 2 for v in column) / len(column)) or 1))
    return found


def scaled(x, figures):
    """Standardized, and with a column of ones for the bias."""
    return [[(v - mean) / deviation for v, (mean, deviation) in zip(row, figures)] + [1.0] for row in x]


def product(row, weights):
    return sum(a * b for a, b in zip(row, weights))


def normal(x, weight):
    """x' W x."""
    size = len(x[0])
    total = [[0.0] * size for _ in range(size)]
    for row, w in zip(x, weight):
        for i, a in enumerate(row):
            if a:
                line, a = total[i], a * w
                for j in range(size):
                    line[j] += a * row[j]
    return total


def least_squares(x, y, _decay):
    gradient = [sum(row[i] * value for row, value in zip(x, y)) for i in range(len(x[0]))]
    return solve(normal(x, [1.0] * len(x)), gradient)


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def logistic(x, y, decay):
    """The least of the mean loss + decay / 2 * the squares of the weights, the bias left out."""
    size, rows = len(x[0]), len(x)
    weights = [0.0] * size
    for _ in range(50):
        p = [sigmoid(product(row, weights)) for row in x]
        gradient = [sum((p[i] - y[i]) * x[i][j] for i in range(rows)) / rows for j in range(size)]
        hessian = [[v / rows for v in line] for line in normal(x, [q * (1 - q) for q in p])]
        for j in range(size - 1):
            gradient[j] += decay * weights[j]
            hessian[j][j] += decay
        step = solve(hessian, gradient)
        weights = [a - b for a, b in zip(weights, step)]
        if max(map(abs, step)) < 1e-12:
            return weights
    sys.exit("FAILED: Newton's method has not come to an end")


def squares_of(x, y, weights):
    return {"mse": sum((product(row, weights) - value) ** 2 for row, value in zip(x, y)) / len(x)}


def logits_of(x, y, weights):
    z = [product(row, weights) for row in x]
    loss = sum(max(a, 0) - a * b + math.log1p(math.exp(-abs(a))) for a, b in zip(z, y)) / len(z)
    return {"loss": loss, "accuracy": sum((a > 0) == (b == 1) for a, b in zip(z, y)) / len(z)}


def wanted(x, y, held, fit, measure, decay):
    """What is measured on the rows `held` of the model that all others fit."""
    held_back = set(held)
    train = [i for i in range(len(x)) if i not in held_back]
    figures = scaling([x[i] for i in train])
    weights = fit(scaled([x[i] for i in train], figures), [y[i] for i in train], decay)
    return measure(scaled([x[i] for i in held], figures), [y[i] for i in held], weights)


# The daemon.
def ask(method, path, body=None):
    request = urllib.request.Request(URL + path, body, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=240) as response:
        return json.load(response)


def ended(job):
    while True:
        found = ask("GET", f"/v1/jobs/{job}?wait=5")
        if found["status"] == "succeeded":
            return found
        if found["status"] in ("failed", "cancelled"):
            sys.exit(f"FAILED: {found['error']}")


def is_near(got, want):
    """Within the tolerance of the number, or of 1 where that is more; false for NaN."""
    return abs(got - want) <= TOLERANCE * max(1, abs(want))


def validate(what, data, x, y, model, folds, stratify=False, decay=0.0, epochs=3000, lr=0.5):
    """One job a fold, and what each must have found."""
    fit, measure, loss = model
    data = {**data, "folds": folds, "stratify": stratify, "split_seed": 7,
            "standardize": ["x", "y"] if loss == "mse" else ["x"]}
    jobs = [ask("POST", "/v1/jobs", json.dumps({
        "data": {**data, "fold": fold}, "model": {"layers": [{"type": "linear", "out_features": 1}]},
        "loss": loss, "epochs": epochs, "device": DEVICE, "report_every": epochs,
        "optimizer": {"type": "sgd", "lr": lr, "momentum": 0.9, "weight_decay": decay, "decay_all": False},
    }).encode())["id"] for fold in range(folds)]
    found = [ended(job)["metrics"] for job in jobs]
    classes = y if stratify else None
    parts = folds_of(7, len(x), folds, classes)
    total = {}
    for fold, (metrics, held) in enumerate(zip(found, parts)):
        if (metrics["validation"]["rows"], metrics["train"]["rows"]) != (len(held), len(x) - len(held)):
            sys.exit(f"FAILED: {what}, fold {fold}: {len(held)} rows are not {metrics['validation']['rows']}")
        for name, want in wanted(x, y, held, fit, measure, decay).items():
            got = metrics["validation"][name]
            if not is_near(got, want):
                sys.exit(f"FAILED: {what}, fold {fold}: {name} {got}, not {want}")
            total[name] = total.get(name, 0) + got / folds
    print(f"ok: {what}: {folds} folds of {len(x)} rows,", ", ".join(f"{k} {v:.6g}" for k, v in total.items()))
    return found


def agrees(what, x, y, classes, found):
    """The folds' metrics are scikit-learn's cross_val_score, where that is installed."""
    try:
        from sklearn.linear_model import LinearRegression, LogisticRegression
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        print(f"not tried: {what} beside scikit-learn, which is not here")
        return
    parts = folds_of(7, len(x), len(found), classes)
    splits = [([i for i in range(len(x)) if i not in set(held)], held) for held in parts]
    name, score, model = (("mse", "neg_mean_squared_error", LinearRegression()) if what == "least squares" else
                          ("loss", "neg_log_loss", LogisticRegression(C=1e12, tol=1e-10, max_iter=10000)))
    theirs = -cross_val_score(make_pipeline(StandardScaler(), model), x, y, cv=splits, scoring=score)
    for fold, (metrics, want) in enumerate(zip(found, theirs)):
        if not is_near(metrics["validation"][name], want):
            sys.exit(f"FAILED: {what}, fold {fold}: {name} {metrics['validation'][name]}, scikit-learn's {want}")
    most = max(abs(metrics["validation"][name] - want) for metrics, want in zip(found, theirs))
    print(f"ok: {what}: scikit-learn's cross_val_score on the same {len(found)} folds, off by {most:.2g} at most")


LINEAR, LOGISTIC = (least_squares, squares_of, "mse"), (logistic, logits_of, "bce_with_logits")


def generated(rows, columns):
    """x, y of a line with noise, and y of a class that the same line makes likelier."""
    draw = random.Random(20)
    x = [[round(draw.gauss(3 * j, 1 + j), 3) for j in range(columns)] for _ in range(rows)]
    z = [sum((v - 3 * j) / (1 + j) * (1 - 0.4 * j) for j, v in enumerate(row)) for row in x]
    return (x, [round(2 * a + draw.gauss(0, 1), 3) for a in z],
            [int(draw.random() < sigmoid(1.5 * a - 1)) for a in z])


def stored(name):
    """The training rows of one of the seeds' files: its test rows stay what they are."""
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as file:
        text = file.read()
    data = json.loads(text)
    ask("PUT", "/v1/datasets/" + name, text.encode())
    columns = data["n"]
    return [data["x"][i * columns:(i + 1) * columns] for i in range(data["m"])], data["y"]


def main():
    x, y, classes = generated(97, 4)
    line, labels = {"inline": {"x": x, "y": y}}, {"inline": {"x": x, "y": classes}}
    plain = validate("least squares", line, x, y, LINEAR, 5)
    agrees("least squares", x, y, None, plain)
    agrees("logistic", x, classes, None, validate("logistic", labels, x, classes, LOGISTIC, 5))
    strata = validate("logistic, stratified", labels, x, classes, LOGISTIC, 5, stratify=True)
    agrees("logistic, stratified", x, classes, classes, strata)
    validate("logistic with weight_decay", labels, x, classes, LOGISTIC, 2, stratify=True, decay=0.05)

    ones = [sum(map(sum, [m["validation"]["confusion"][1]])) for m in strata]
    if max(ones) - min(ones) > 1 or sum(ones) != sum(classes):
        sys.exit(f"FAILED: the folds have {ones} rows of class 1")
    print("ok: stratified folds have", ones, "rows of class 1")
    # a canary: other folds have other figures
    other = [wanted(x, y, held, least_squares, squares_of, 0)["mse"] for held in folds_of(8, len(x), 5)]
    if all(is_near(m["validation"]["mse"], want) for m, want in zip(plain, other)):
        sys.exit("FAILED: the comparison takes the folds of another seed")
    print("ok: the folds of another seed are told apart")

    for name, model, more in (("linear", LINEAR, {}),
                              ("logistic", LOGISTIC, {"folds": 3, "stratify": True, "decay": 0.01})):
        if not os.access(os.path.join(FOLDER, name + ".json"), os.R_OK) or not FOLDER:
            print(f"not tried: there is no {name}.json")
            continue
        x, y = stored(name)
        validate(name + ".json", {"dataset": name}, x, y, model, **{"folds": 5, "epochs": 2000, "lr": 0.1, **more})


main()
