#!/usr/bin/env python3
"""plots.py URL: the plots of three jobs. Curves are computed here as textbooks have them, and by scikit-learn where it
is installed; what the network says of rows comes from predict."""

import base64
import json
import math
import random
import struct
import sys
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree
import zlib

URL = sys.argv[1]
TOLERANCE = 1e-12


def fail(what):
    sys.exit(f"FAILED: {what}")


def ask(method, path, body=None, kind="application/json", accept="application/json", want=(200, 201)):
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    headers = {"Accept": accept} | ({"Content-Type": kind} if data is not None else {})
    request = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            status, text, type_ = answer.status, answer.read(), answer.headers["Content-Type"]
    except urllib.error.HTTPError as answer:
        status, text, type_ = answer.code, answer.read(), answer.headers["Content-Type"]
    if status not in (want if isinstance(want, tuple) else (want,)):
        fail(f"{method} {path} -> {status}: {text[:500]!r}")
    return json.loads(text) if "json" in type_ else text


def train(spec):
    job = ask("POST", "/v1/jobs", {"epochs": 60, "batch_size": 32, "optimizer": {"type": "adam", "lr": 0.05}} | spec)
    while job["status"] not in ("succeeded", "failed"):
        job = ask("GET", f"/v1/jobs/{job['id']}?wait=10")
    if job["status"] != "succeeded":
        fail(job)
    return job["id"]


def plot(job, name, **query):
    words = "&".join(f"{key}={value}" for key, value in query.items())
    return ask("GET", f"/v1/jobs/{job}/plots/{name}?{words}")


def near(what, got, wanted, tolerance=TOLERANCE):
    if isinstance(wanted, list):
        if len(got) != len(wanted):
            fail(f"{what}: {len(got)} values, not {len(wanted)}")
        for i, (a, b) in enumerate(zip(got, wanted)):
            near(f"{what}[{i}]", a, b, tolerance)
        return
    a = math.inf if got == "Infinity" else got
    if math.isnan(a) or (a != wanted and not abs(a - wanted) <= tolerance * max(1, abs(wanted))):
        fail(f"{what} is {a!r}, not {wanted!r}")


def hits_by_threshold(truth, scores):
    """(threshold, true positives, false positives) of each score, the greatest first."""
    return [(t, sum(1 for y, s in zip(truth, scores) if y and s >= t), sum(1 for y, s in zip(truth, scores) if not y and s >= t))
            for t in sorted(set(scores), reverse=True)]


def roc(truth, scores):
    """As roc_curve has it: without the points within straight lines."""
    steps, positives = hits_by_threshold(truth, scores), sum(truth)
    kept = [step for i, step in enumerate(steps) if i in (0, len(steps) - 1) or any(
        steps[i + 1][k] - 2 * step[k] + steps[i - 1][k] for k in (1, 2))]
    return ([0] + [f / (len(truth) - positives) for _, _, f in kept], [0] + [h / positives for _, h, _ in kept],
            [math.inf] + [t for t, _, _ in kept])


def precision_recall(truth, scores):
    steps, positives = hits_by_threshold(truth, scores)[::-1], sum(truth)
    return [h / (h + f) for _, h, f in steps] + [1], [h / positives for _, h, _ in steps] + [0], [t for t, _, _ in steps]


def curves_check(job, truth, scores):
    wanted_roc, wanted_pr, source = roc(truth, scores), precision_recall(truth, scores), "the textbook"
    try:
        from sklearn import metrics
        wanted_roc = [list(map(float, part)) for part in metrics.roc_curve(truth, scores)]
        wanted_roc[2][0] = math.inf  # before 1.3 it is a number above all scores
        wanted_pr = [list(map(float, part)) for part in metrics.precision_recall_curve(truth, scores)]
        source = "scikit-learn"
    except ImportError:
        pass
    got = plot(job, "roc", cost="fp:1,fn:5")
    for key, wanted in zip(("fpr", "tpr", "thresholds"), wanted_roc):
        near(f"roc {key}", got[key], list(wanted))
    area = sum((b - a) * (c + d) / 2 for a, b, c, d in zip(got["fpr"], got["fpr"][1:], got["tpr"], got["tpr"][1:]))
    near("auc", got["auc"], area, 1e-9)
    # the best thresholds, by trying them all
    positives, steps = sum(truth), hits_by_threshold(truth, scores)
    best = max(steps, key=lambda step: 2 * step[1] / (step[1] + step[2] + positives))
    near("best F1", got["best_f1"]["threshold"], best[0])
    near("its F1", got["best_f1"]["f1"], 2 * best[1] / (best[1] + best[2] + positives))
    cheapest = min([(math.inf, 0, 0)] + steps, key=lambda step: step[2] + 5 * (positives - step[1]))
    near("the cheapest", got["best_cost"]["threshold"], cheapest[0])
    near("its cost", got["best_cost"]["cost"], cheapest[2] + 5 * (positives - cheapest[1]))
    got = plot(job, "pr")
    for key, wanted in zip(("precision", "recall", "thresholds"), wanted_pr):
        near(f"pr {key}", got[key], list(wanted))
    recall, precision = got["recall"], got["precision"]
    near("average precision", got["average_precision"],
         sum((a - b) * p for a, b, p in zip(recall, recall[1:], precision)), 1e-9)
    print(f"ok: {len(truth)} rows, {len(set(scores))} scores: ROC and PR are those of {source}")


def calibration_check(job, truth, probabilities):
    bins = [[] for _ in range(10)]
    for y, p in zip(truth, probabilities):
        bins[sum(p > edge * 0.1 for edge in range(1, 10))].append((y, p))
    bins = [b for b in bins if b]
    got = plot(job, "calibration")
    near("predicted", got["predicted"], [sum(p for _, p in b) / len(b) for b in bins], 1e-9)
    near("observed", got["observed"], [sum(y for y, _ in b) / len(b) for b in bins])
    near("Brier", got["brier"], sum((y - p) ** 2 for y, p in zip(truth, probabilities)) / len(truth), 1e-9)


def png_chunks(picture):
    """[(kind, content)], each held to its checksum."""
    chunks, at = [], 8
    while at < len(picture):
        count = struct.unpack(">I", picture[at:at + 4])[0]
        kind, content = picture[at + 4:at + 8], picture[at + 8:at + 8 + count]
        if zlib.crc32(kind + content) != struct.unpack(">I", picture[at + 8 + count:at + 12 + count])[0]:
            fail(f"the chunk {kind} has another checksum")
        chunks.append((kind.decode(), content))
        at += 12 + count
    return chunks


def picture_check(job, name, text):
    root = xml.etree.ElementTree.fromstring(text)
    names = [element.tag.split("}")[1] for element in root.iter()]
    if names[0] != "svg" or "title" not in names or "desc" not in names or "script" in names:
        fail(f"the picture of {name} has {sorted(set(names))}")
    if b"nan" in text.lower().replace(b"dominance", b""):
        fail(f"the picture of {name} has a NaN in it")


def pictures_check(job, names):
    listed = [row["name"] for row in ask("GET", f"/v1/jobs/{job}/plots")["data"]]
    if listed != names:
        fail(f"the plots of {job} are {listed}")
    for name in names:
        picture_check(job, name, ask("GET", f"/v1/jobs/{job}/plots/{name}", accept="text/html,image/svg+xml,*/*"))
    for name in {"confusion", "roc", "predictions", "mistakes", "uncertain", "timelapse"} - set(names):
        problem = ask("GET", f"/v1/jobs/{job}/plots/{name}", want=404)
        if ", ".join(names) not in problem["detail"]:
            fail(f"{name}: {problem['detail']}")


def infer(rows, request, want=200):
    return ask("POST", "/v2/models/marks/infer", request | {"inputs": [
        {"name": "x", "datatype": "FP32", "shape": [len(rows), len(rows[0])], "data": sum(rows, [])}]}, want=want)


def infer_check(whose, rows, threshold, wanted, classes):
    answer = infer(rows, {"parameters": {"threshold": threshold}} if threshold else {})
    if answer["parameters"] != {"threshold": wanted, "positive": "1"}:
        fail(f"{whose} threshold: {answer['parameters']}, not {wanted}")
    if next(o["data"] for o in answer["outputs"] if o["name"] == "class") != classes:
        fail(f"{whose} threshold {threshold} decides otherwise")


def thresholds(job, rows, truth):
    """Predictions and a published model decide by a threshold; that of the best F1 has it."""
    predict = lambda threshold: ask("POST", f"/v1/jobs/{job}/predict?threshold={threshold}", {"x": rows})
    pr = plot(job, "pr", cost="fp:1,fn:9")
    for asked, best in ("f1", pr["best_f1"]), ("fp:1,fn:9", pr["best_cost"]), ("0.25", None):
        got = predict(asked)
        at = best["probability"] if best else 0.25
        if got["threshold"] != at or got["classes"] != [int(p[1] >= at) for p in got["probabilities"]]:
            fail(f"the threshold {asked}: {got['threshold']}, {got['classes']}")
        if best:
            hits = sum(1 for t, c in zip(truth, got["classes"]) if t and c)
            near(f"recall at {asked}", hits / sum(truth), best["recall"])
        for given in {asked, at}:
            if ask("POST", f"/v1/jobs/{job}/predict", {"threshold": given, "x": rows}) != got:
                fail(f"the body's threshold {given} decides otherwise")
        model = ask("PUT", "/v1/models/marks", {"job": job, "threshold": asked})
        if model["threshold"] != at:
            fail(f"the model's threshold is {model['threshold']}")
        infer_check("the model's own", rows, None, at, got["classes"])
        # of the request, whatever the model's is
        ask("PUT", "/v1/models/marks", {"job": job, "threshold": 0.999})
        infer_check("the request's", rows, asked, at, got["classes"])
    # longer than what an HTTP thread parses
    many = rows * (80_000 // len(json.dumps(rows)) + 1)
    if ask("POST", f"/v1/jobs/{job}/predict", {"x": many, "threshold": "f1"})["classes"] != predict("f1")["classes"] * (len(many) // len(rows)):
        fail("a long body's threshold decides otherwise")
    infer_check("a long request's", many, "f1", pr["best_f1"]["probability"], predict("f1")["classes"] * (len(many) // len(rows)))
    if ask("PUT", "/v1/models/marks", {"job": job})["threshold"] is None:
        fail("a threshold does not outlive the same publication")
    if ask("PUT", "/v1/models/marks", {"job": job, "threshold": None})["threshold"] is not None:
        fail("a threshold of null stays")
    if "parameters" in infer(rows, {"parameters": {"threshold": None}}):
        fail("a threshold decides that nobody has given")
    for query in ("?checkpoint=999999&threshold=f1", "?checkpoint=999999"):
        ask("POST", f"/v1/jobs/{job}/predict{query}", {"x": rows}, want=404)
    ask("POST", f"/v1/jobs/{job}/predict?checkpoint=999999", {"x": rows, "threshold": "f1"}, want=404)
    for query, given in (("", 1.01), ("", -0.01), ("", "best"), ("", True), ("?threshold=0.5", 0.5)):
        problem = ask("POST", f"/v1/jobs/{job}/predict{query}", {"x": rows, "threshold": given}, want=422)
        if problem["errors"][0]["pointer"] != "/threshold":
            fail(f"the body's threshold {given}: {problem}")
        if not query and "threshold" not in infer(rows, {"parameters": {"threshold": given}}, want=400)["error"]:
            fail(f"the request's threshold {given}")
    for wrong in ("1.5", "best", "fp:1", "nan"):
        if "threshold" not in ask("POST", f"/v1/jobs/{job}/predict?threshold={wrong}", {"x": rows}, want=400)["detail"] and wrong != "fp:1":
            fail(f"threshold={wrong}")
        if ask("PUT", "/v1/models/marks", {"job": job, "threshold": wrong}, want=422)["errors"][0]["pointer"] != "/threshold":
            fail(f"a model of the threshold {wrong}")
    print(f"ok: thresholds: recall {pr['best_f1']['recall']:.3f} at the best F1, {pr['at_half']['recall']:.3f} at one half")


def two_classes_wanted(job, threshold, body):
    """The job has none that a threshold could decide between."""
    for query, given, pointers in (f"?threshold={threshold}", {}, []), ("", {"threshold": threshold}, ["/threshold"]):
        problem = ask("POST", f"/v1/jobs/{job}/predict{query}", body | given, want=409)
        if "two classes" not in problem["detail"] or [e["pointer"] for e in problem.get("errors", [])] != pointers:
            fail(f"a threshold of a job without two classes: {problem}")


def binary():
    """Yes or no, of whole numbers: scores occur several times. Test rows of its own."""
    draw = random.Random(7)
    rows = [[draw.randint(0, 3) for _ in range(4)] for _ in range(800)]
    y = [int(3 * a - 2 * b + draw.gauss(0, 2) > 2) for a, b, _, _ in rows]
    test = 300
    data = {"m": len(rows) - test, "n": 4, "m_test": test, "x": sum(rows[test:], []), "y": y[test:],
            "x_test": sum(rows[:test], []), "y_test": y[:test]}
    ask("PUT", "/v1/datasets/marks", data)
    job = train({"data": {"dataset": "marks", "standardize": ["x"]}, "loss": "bce_with_logits", "name": "<marks> & more",
                 "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                                      {"type": "linear", "out_features": 1}]}})
    scores = [row[0] for row in ask("POST", f"/v1/jobs/{job}/predict", {"x": rows[:test]})["predictions"]]
    if len(set(scores)) == test:
        fail("no score occurs twice: the test tests too little")
    curves_check(job, y[:test], scores)
    calibration_check(job, y[:test], [1 / (1 + math.exp(-s)) for s in scores])
    matrix = [[sum(1 for t, s in zip(y, scores) if t == a and (s > 0) == b) for b in (0, 1)] for a in (0, 1)]
    got = plot(job, "confusion")
    if got["matrix"] != matrix or got["classes"] != ["0", "1"]:
        fail(f"confusion: {got}, not {matrix}")
    near("shares", plot(job, "confusion", normalize="true")["matrix"], [[c / sum(r) for c in r] for r in matrix])
    # the second column counts for less than the first, the last two for nothing
    got = plot(job, "importance", repeats=10)
    if [column["column"] for column in got["columns"]][:2] != ["0", "1"] or got["columns"][0]["mean"] < 0.1:
        fail(f"importance: {got['columns']}")
    near("baseline", got["baseline"], (matrix[0][0] + matrix[1][1]) / test)
    if plot(job, "importance", repeats=10) != got or plot(job, "importance", repeats=10, seed=1) == got:
        fail("importance is not a function of its seed")
    thresholds(job, rows[:test], y[:test])
    pictures_check(job, ["confusion", "roc", "pr", "calibration", "boundary", "importance", "dependence",
                         "mistakes", "uncertain", "weights", "network"])
    print("ok: confusion, calibration, importance of a binary classifier")


def table():
    """Three kinds, by name; a column of words."""
    draw = random.Random(3)
    lines = ["width,height,colour,kind"]
    for _ in range(400):
        kind = draw.choice(["apple", "melon", "plum"])
        size = {"apple": 8, "melon": 20, "plum": 4}[kind]
        colour = draw.choice(["red", "green"]) if kind == "apple" else {"melon": "green", "plum": "blue"}[kind]
        lines.append(f"{size + draw.gauss(0, 1):.3f},{draw.gauss(0, 1):.3f},{colour},{kind}")
    ask("PUT", "/v1/datasets/fruit?header=true", "\n".join(lines).encode(), "text/csv")
    job = train({"data": {"dataset": "fruit", "target": "kind", "test": 0.3}, "loss": "cross_entropy",
                 "model": {"layers": [{"type": "linear", "out_features": 8}, {"type": "tanh"},
                                      {"type": "linear", "out_features": 3}]}})
    got = plot(job, "confusion")
    metrics = ask("GET", f"/v1/jobs/{job}")["metrics"]["test"]
    if sorted(got["classes"]) != ["apple", "melon", "plum"] or got["matrix"] != metrics["confusion"] or got["rows"] != 120:
        fail(f"confusion: {got}, not {metrics}")
    got = plot(job, "boundary", x="width", y="height", size=40)
    if [len(row) for row in got["values"]] != [40] * 40 or got["x"]["column"] != "width" or got["points"]["x"] == []:
        fail(f"boundary: {str(got)[:300]}")
    if got["held"][0]["column"] != "colour" or got["held"][0]["value"] not in ("red", "green", "blue"):
        fail(f"what is held: {got['held']}")
    # each point as predict has it, with the others held
    x = got["x"]["low"] + 3 / 39 * (got["x"]["high"] - got["x"]["low"])
    y = got["y"]["low"] + 30 / 39 * (got["y"]["high"] - got["y"]["low"])
    outputs = ask("POST", f"/v1/jobs/{job}/predict",
                  {"rows": [{"width": x, "height": y, "colour": got["held"][0]["value"]}]})["predictions"][0]
    if got["values"][30][3] != outputs.index(max(outputs)):
        fail(f"the point at {x}, {y} is of class {got['values'][30][3]}, and predict says {outputs}")
    picture = ask("GET", f"/v1/jobs/{job}/plots/boundary?format=png&size=64")
    if picture[:8] != b"\x89PNG\r\n\x1a\n" or struct.unpack(">II", picture[16:24]) != (64, 64):
        fail("the boundary is no PNG of 64 x 64")
    chunks = png_chunks(picture)
    if [kind for kind, _ in chunks] != ["IHDR", "PLTE", "IDAT", "IEND"] or len(zlib.decompress(chunks[2][1])) != 64 * (64 + 1):
        fail("the PNG has other pixels")
    got = plot(job, "importance")
    if got["columns"][-1]["column"] != "height":
        fail(f"importance: {got['columns']}")
    got = plot(job, "dependence", column="colour", **{"class": "melon"})
    if sorted(got["value"]) != ["blue", "green", "red"] or got["class"] != "melon":
        fail(f"dependence: {got}")
    got = plot(job, "roc", **{"class": "plum"})
    if got["class"] != "plum" or got["score"] != "probability":
        fail(f"roc of a class: {got['class']}")
    for query, word in (("roc?class=pear", "pear"), ("boundary?x=colour", "words"), ("boundary?x=depth", "depth"),
                        ("boundary?x=width&y=width", "same"), ("boundary?size=513", "512"), ("roc?cost=2", "cost"),
                        ("roc?format=png", "png")):
        problem = ask("GET", f"/v1/jobs/{job}/plots/{query}", want=400)
        if word not in problem["detail"]:
            fail(f"{query}: {problem['detail']}")
    for threshold in (0.5, "f1"):
        body = {"rows": [{"width": 4, "height": 0, "colour": "red"}]}
        two_classes_wanted(job, threshold, body)
        ask("PUT", "/v1/models/fruit", {"job": job, "threshold": threshold}, want=(409, 422))
        ask("PUT", "/v1/models/fruit", {"job": job})
        answer = ask("POST", "/v2/models/fruit/infer", {"parameters": {"threshold": threshold}, "inputs": [
            {"name": "x", "datatype": "FP64", "shape": [1, 3], "data": [4, 0, 1]}]}, want=400)
        if "two classes" not in answer["error"]:
            fail(f"a request's threshold for three classes: {answer}")
    pictures_check(job, ["confusion", "roc", "pr", "calibration", "boundary", "importance", "dependence",
                         "mistakes", "uncertain", "weights", "network"])
    print("ok: names, boundary, dependence of a table, and what is refused")


def importance_beside(job, rows, y):
    """scikit-learn's permutation_importance of this very network: its predictions are the daemon's. The shuffles are
    others, so that the means agree within their spread."""
    try:
        import numpy
        from sklearn.base import BaseEstimator, RegressorMixin
        from sklearn.inspection import permutation_importance
    except ImportError:
        return

    class Network(BaseEstimator, RegressorMixin):
        def fit(self, *_):
            return self

        def predict(self, x):
            return [row[0] for row in ask("POST", f"/v1/jobs/{job}/predict", {"x": x.tolist()})["predictions"]]

    wanted = permutation_importance(Network(), numpy.array(rows), numpy.array(y), n_repeats=50, random_state=0)
    got = {int(column["column"]): column["mean"] for column in plot(job, "importance", repeats=50)["columns"]}
    order = sorted(got, key=lambda column: -got[column])
    if order != [int(column) for column in numpy.argsort(-wanted.importances_mean)]:
        fail(f"importance {got} is in another order than {wanted.importances_mean}")
    for column, mean in got.items():
        near(f"importance of {column}", mean, wanted.importances_mean[column], wanted.importances_std[column])
    print("ok: importance is that of scikit-learn")


def regression():
    draw = random.Random(5)
    rows = [[draw.uniform(-1, 1), draw.uniform(-1, 1)] for _ in range(300)]
    y = [3 * a - b + draw.gauss(0, 0.1) for a, b in rows]
    data = {"m": 200, "n": 2, "m_test": 100, "x": sum(rows[100:], []), "y": y[100:], "x_test": sum(rows[:100], []),
            "y_test": y[:100]}
    ask("PUT", "/v1/datasets/plane", data)
    job = train({"data": {"dataset": "plane", "standardize": ["x", "y"]}, "loss": "mse",
                 "model": {"layers": [{"type": "linear", "out_features": 1}]}})
    outputs = [row[0] for row in ask("POST", f"/v1/jobs/{job}/predict", {"x": rows[:100]})["predictions"]]
    got = plot(job, "predictions")
    near("targets", got["target"], y[:100], 1e-6)
    near("predictions", got["prediction"], outputs)
    got = plot(job, "residuals")
    near("residuals", got["residual"], [t - p for t, p in zip(y, outputs)], 1e-6)
    near("the mean residual", got["mean"], sum(got["residual"]) / 100, 1e-9)
    # a plane's dependence is a line
    got = plot(job, "dependence", column=0)
    slopes = [(b - a) / (d - c) for a, b, c, d in zip(got["mean"], got["mean"][1:], got["value"], got["value"][1:])]
    near("the slope", slopes, [slopes[0]] * len(slopes), 1e-3)
    for threshold in (0.5, "f1", "fp:1,fn:5"):
        two_classes_wanted(job, threshold, {"x": rows[:1]})
    importance_beside(job, rows[:100], y[:100])
    pictures_check(job, ["predictions", "residuals", "boundary", "importance", "dependence", "weights", "network"])
    print("ok: a regression's plots, and no ROC of it")


def drawn(values):
    """Rows of a boundary as the bytes of its picture, the greatest y first."""
    return [[round(255 * v) for v in row] for row in values[::-1]]


def unfiltered(data, size):
    """The rows of a picture of one byte a pixel, without filters."""
    raw = zlib.decompress(data)
    return [list(raw[i * (size + 1) + 1:(i + 1) * (size + 1)]) for i in range(size)]


def film():
    """A picture of two colours as 40,000 rows, which a network learns: drawn as it forms, and as a file that moves."""
    side, every, epochs = 200, 3, 10
    inside = lambda a, b: int((a - .5) ** 2 + (b - .35) ** 2 < .08)
    cells = [(j / (side - 1), i / (side - 1)) for i in range(side) for j in range(side)]
    ask("PUT", "/v1/datasets/picture", {"m": len(cells), "n": 2, "x": [round(v, 5) for cell in cells for v in cell],
                                        "y": [inside(*cell) for cell in cells]})
    spec = {"data": {"dataset": "picture", "standardize": ["x"]}, "loss": "bce_with_logits", "batch_size": 64, "epochs": epochs,
            "model": {"layers": [{"type": "linear", "out_features": 16}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]},
            "optimizer": {"type": "adam", "lr": 0.02}}
    problem = ask("POST", "/v1/jobs", spec | {"epochs": 2410, "timelapse_every": 10}, want=422)
    if problem["errors"][0]["pointer"] != "/timelapse_every":
        fail(problem)
    plain, job = train(spec), train(spec | {"timelapse_every": every})
    if ask("GET", f"/v1/jobs/{plain}")["weights"]["sha256"] == ask("GET", f"/v1/jobs/{job}")["weights"]["sha256"]:
        fail("the spec is not in the weights")
    if ask("GET", f"/v1/jobs/{plain}")["metrics"] != ask("GET", f"/v1/jobs/{job}")["metrics"]:
        fail("a time-lapse changes what is learnt")
    frames = plot(job, "timelapse", size=40)["frames"]
    if [frame["epoch"] for frame in frames] != [0, 3, 6, 9, 10]:
        fail(f"the moments are {[frame['epoch'] for frame in frames]}")
    for size in (40, 200, 512):
        picture = ask("GET", f"/v1/jobs/{job}/plots/boundary?format=png&size={size}")
        if struct.unpack(">II", picture[16:24]) != (size, size):
            fail(f"the picture is not of {size} pixels")
    # the film: the end as the still picture, then a frame a moment, each as the boundary of that epoch
    chunks = png_chunks(ask("GET", f"/v1/jobs/{job}/plots/timelapse?format=png&size=40"))
    if [kind for kind, _ in chunks] != ["IHDR", "acTL", "PLTE", "IDAT"] + 5 * ["fcTL", "fdAT"] + ["IEND"]:
        fail(f"the film is {[kind for kind, _ in chunks]}")
    numbers = [struct.unpack(">I", content[:4])[0] for kind, content in chunks if kind in ("fcTL", "fdAT")]
    if numbers != list(range(10)) or struct.unpack(">II", chunks[1][1]) != (5, 0):
        fail(f"its chunks are numbered {numbers}")
    for frame, content in zip(frames, [content[4:] for kind, content in chunks if kind == "fdAT"]):
        wanted = drawn(plot(job, "boundary", size=40, epoch=frame["epoch"])["values"])
        got = unfiltered(content, 40)
        if any(abs(a - b) > 1 for r, w in zip(got, wanted) for a, b in zip(r, w)):
            fail(f"the frame of epoch {frame['epoch']} is not its boundary")
    if unfiltered(chunks[3][1], 40) != unfiltered(chunks[-2][1][4:], 40):
        fail("the still picture is not the last frame")
    for theme, wanted in (("auto", (b"prefers-color-scheme", b"#0d1117")), ("dark", (b"#0d1117",)), ("light", ())):
        picture = ask("GET", f"/v1/jobs/{job}/plots/boundary?format=svg&theme={theme}")
        if tuple(word for word in (b"prefers-color-scheme", b"#0d1117") if word in picture) != wanted:
            fail(f"the picture of the theme {theme} has other colours")
    upside_down = png_chunks(ask("GET", f"/v1/jobs/{job}/plots/boundary?format=png&size=40&y_down=true"))
    if unfiltered(upside_down[2][1], 40) != unfiltered(chunks[3][1], 40)[::-1]:
        fail("y does not grow downwards")
    right = sum((got > 127) == inside(j / 39, i / 39) for i, row in enumerate(unfiltered(upside_down[2][1], 40)) for j, got in enumerate(row))
    if right < 0.95 * 1600:
        fail(f"{right} of 1600 pixels are of the right colour")
    problem = ask("GET", f"/v1/jobs/{job}/plots/boundary?epoch=4", want=404)
    if "0 to 10" not in problem["detail"]:
        fail(problem)
    ask("GET", f"/v1/jobs/{plain}/plots/boundary?epoch=latest", want=404)
    ask("GET", f"/v1/jobs/{job}/plots/boundary?epoch=soon", want=400)
    print("ok: a picture of two colours at 200 and 512 pixels, and its time-lapse")


def goes_on():
    """A paused training goes on with its time-lapse: no moment is missing, and none is there twice."""
    spec = {"data": {"generator": "disc", "rows": 2000}, "loss": "bce_with_logits", "epochs": 60000, "batch_size": 50,
            "report_every": 1000, "timelapse_every": 1000, "optimizer": {"lr": 0.01}, "checkpoint": {"every_seconds": 0},
            "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]}}
    job = ask("POST", "/v1/jobs", spec)["id"]
    for _ in range(2):
        seen = ask("GET", f"/v1/jobs/{job}")["progress"]["epoch"]
        while ask("GET", f"/v1/jobs/{job}")["progress"]["epoch"] < seen + 2000:
            time.sleep(0.05)
        live = plot(job, "boundary", epoch="latest", size=10)
        if len(live["values"]) != 10:
            fail("no picture while it trains")
        ask("POST", f"/v1/jobs/{job}/pause", {}, want=(200, 202))
        while ask("GET", f"/v1/jobs/{job}")["status"] != "paused":
            time.sleep(0.05)
        epochs = [frame["epoch"] for frame in plot(job, "timelapse", size=2)["frames"]]
        if epochs != list(range(0, 1000 * len(epochs), 1000)):
            fail(f"the moments of a pause are {epochs}")
        ask("POST", f"/v1/jobs/{job}/resume", {}, want=(200, 202))
    ask("POST", f"/v1/jobs/{job}/cancel", {})
    print("ok: a time-lapse goes on after a pause")


def pixels():
    """Rows that are pictures: mistakes have them, and the first layer's weights have their shape."""
    draw = random.Random(9)
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (%s,), }"
    npy = lambda shape, content: (b"\x93NUMPY\1\0" + struct.pack("<H", 118) + (head % ", ".join(map(str, shape))).ljust(117).encode() +
                                  b"\n" + bytes(content))
    rows = [[draw.randrange(256) for _ in range(60)] for _ in range(80)]
    ask("PUT", "/v1/datasets/tiny/train/x", npy((80, 3, 4, 5), sum(rows, [])), "application/octet-stream")
    ask("PUT", "/v1/datasets/tiny/train/y", npy((80,), [draw.randrange(2) for _ in rows]), "application/octet-stream")
    job = train({"data": {"dataset": "tiny"}, "loss": "cross_entropy", "epochs": 1, "model": {
        "layers": [{"type": "flatten"}, {"type": "linear", "out_features": 6}, {"type": "relu"}, {"type": "linear", "out_features": 2}]}})
    got = plot(job, "mistakes", count=3)
    if got["picture"] != {"channels": 3, "height": 4, "width": 5} or len(got["examples"]) != min(3, got["wrong"]):
        fail(f"mistakes: {got}")
    shares = [example["probability"] for example in got["examples"]]
    for example in got["examples"]:
        if list(base64.b64decode(example["pixels"])) != rows[example["row"]] or example["target"] == example["prediction"]:
            fail(f"mistakes: {example}")
    if shares != sorted(shares, reverse=True):
        fail(f"the surest mistake is not the first: {shares}")
    got = plot(job, "weights")
    tensors = ask("GET", f"/v1/jobs/{job}/weights?format=json")["tensors"]
    weights = [w for row in tensors["1.weight"]["data"] for w in row]
    largest = max(map(abs, weights))
    if got["tensor"] != "1.weight" or (got["tiles"], got["picture"]["channels"]) != (6, 3) or got["layers"] != ["1", "3"]:
        fail(f"weights: {got}")
    if any(abs(byte - 128 - 127 * w / largest) > 0.51 for byte, w in zip(base64.b64decode(got["pixels"]), weights)):
        fail("the weights' picture has other values")
    if plot(job, "weights", layer=3)["picture"] != {"channels": 1, "height": 2, "width": 6}:
        fail("the second layer is no matrix")
    if "1, 3" not in ask("GET", f"/v1/jobs/{job}/plots/weights?layer=2", want=400)["detail"]:
        fail("a layer without weights")
    for name in ("mistakes", "uncertain", "weights"):
        if png_chunks(ask("GET", f"/v1/jobs/{job}/plots/{name}?format=png"))[0][0] != "IHDR":
            fail(f"{name} is no PNG")
    pictures_check(job, ["confusion", "roc", "pr", "calibration", "mistakes", "uncertain", "weights", "network"])
    print("ok: mistakes and weights of pictures")


def while_it_trains():
    """The boundary of a checkpoint, and none of the job's end yet."""
    job = ask("POST", "/v1/jobs", {"data": {"generator": "disc", "rows": 400}, "loss": "bce_with_logits", "epochs": 900000000,
              "batch_size": 50, "report_every": 100000, "checkpoint": {"every_seconds": 1}, "optimizer": {"lr": 0.01},
              "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                                   {"type": "linear", "out_features": 1}]}})["id"]
    ask("GET", f"/v1/jobs/{job}/plots/boundary", want=409)
    while not ask("GET", f"/v1/jobs/{job}/checkpoints")["data"]:
        time.sleep(0.1)
    got = plot(job, "boundary", checkpoint="latest", size=10)
    outputs = ask("GET", f"/v1/jobs/{job}/plots/boundary?checkpoint=x", want=400)
    ask("POST", f"/v1/jobs/{job}/cancel", {})
    if len(got["values"]) != 10 or "checkpoint" not in outputs["detail"]:
        fail(f"the boundary of a checkpoint: {str(got)[:200]}, {outputs}")
    print("ok: the boundary of a job that trains")


def branches():
    """Of a job and of a validation the layers are drawn, and not of a list alone."""
    spec = {"data": {"generator": "disc", "rows": 400}, "loss": "bce_with_logits", "epochs": 1, "model": {"layers": [
        {"type": "linear", "out_features": 4, "name": "first"}, {"type": "tanh"},
        {"type": "add", "input": ["1", "first"]}, {"type": "linear", "out_features": 1}]}}
    job = train(spec)
    got = plot(job, "network")
    if [layer["input"] for layer in got["layers"]] != [["x"], ["first"], ["1", "first"], ["2"]] or "rows" in got:
        fail(f"the network is {got}")
    drawing = ask("POST", "/v1/jobs?validate=only", spec)["drawing"].encode()
    for name, text in ("network", ask("GET", f"/v1/jobs/{job}/plots/network?format=svg")), ("validation", drawing):
        picture_check(job, name, text)
        if text.count(b'class="box"') != 5 or text.count(b'class="arrow"') != 5 or b"first</tspan>" not in text:
            fail(f"the drawing of {name}: {text}")
    print("ok: a network is drawn, of a job and of a validation")


binary()
table()
branches()
regression()
while_it_trains()
film()
goes_on()
pixels()
