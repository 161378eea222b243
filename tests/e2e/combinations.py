#!/usr/bin/env python3
"""combinations.py URL OPENAPI [--seed S] [--count N] [--case K]: what is accepted trains.

Draws jobs and sweeps: one of a few that train, with two or three fields set to values that the schema allows: of the job,
of its data, of its model, of one of its columns, and of a sweep and its space. An answer of 201 must end as succeeded, or
have diverged; one of 422 must point at fields; ?validate=only must say the same. One line a violation, with its case, the
fields that were in no accepted case, and a summary."""

import argparse
import copy
import json
import math
import os
import random
import sys
import time
import urllib.error
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
from summary import summary  # noqa: E402

LONG_SECONDS = 5  # of training, then it is cancelled: it trains
TOGETHER = 8  # jobs in the queue at a time

ROWS = [[(i * 7 % 20) / 10 - 1, (i * 13 % 20) / 10 - 1] for i in range(40)]
DENSE = [{"type": "linear", "out_features": 4}, {"type": "relu"}, {"type": "linear", "out_features": 1}]
CLASSIFIER = DENSE[:2] + [{"type": "linear", "out_features": 3}]
GRAPH = [{"type": "conv2d", "out_channels": 2, "kernel_size": 3, "padding": 1},
         {"type": "residual", "layers": [{"type": "conv2d", "out_channels": 2, "kernel_size": 3, "padding": 1}, {"type": "batch_norm"}]},
         {"type": "max_pool2d", "kernel_size": 2}, {"type": "dropout", "p": 0.1}, {"type": "flatten"}, {"type": "linear", "out_features": 2}]
COLUMNS = ["a", "b", "when", "kind", "price"]  # of "combined"
# Values that fit more often than those that a schema allows.
NAMES = {"features": COLUMNS, "exclude": COLUMNS, "time": ["when", "when", "a"], "group": ["kind", "kind", "b"],
         "metric": ["train.loss", "validation.loss", "train.accuracy", "validation.r2", "test.loss", "validation.mae"],
         "kernel_size": [1, 2, 3], "stride": [1, 1, 2], "padding": [0, 1], "dilation": [1, 1, 2], "groups": [1, 1, 2], "out_channels": [2, 4],
         "output_size": [1, 2], "num_embeddings": [20, 64], "embedding_dim": [1, 3]}
AXES = {"/optimizer": {"values": ["sgd", {"type": "adam", "lr": 0.01}]}, "/optimizer/lr": {"log_uniform": [0.001, 0.1]},
        "/batch_size": {"values": [4, 8]}, "/seed": {"int_uniform": [1, 9]}, "/epochs": {"values": [1, 3]},
        "/model/layers/0/out_features": {"int_log_uniform": [2, 8]}, "/model/layers/1/type": {"values": ["relu", "tanh"]},
        "/model/layers/3/p": {"uniform": [0, 0.5]}, "/optimizer/weight_decay": {"values": [0, 0.01]},
        "/data/validation": {"values": [0.1, 0.3]}, "/data/window/length": {"int_uniform": [1, 6]},
        "/data/columns/kind/encode": {"values": ["one_hot", "embedding"]}, "/schedule": {"values": ["constant", "cosine"]}}
PICTURES = [{"type": "conv2d", "out_channels": 2, "kernel_size": 3}, {"type": "relu"}, {"type": "flatten"},
            {"type": "linear", "out_features": 2}]


def bases():
    number, yes, three = ({"x": ROWS, "y": y} for y in ([[a * b] for a, b in ROWS], [[int(a * b > 0)] for a, b in ROWS],
                                                        [i % 3 for i in range(len(ROWS))]))
    return [
        {"data": {"inline": number}, "model": {"layers": DENSE}, "loss": "mse", "epochs": 2},
        {"data": {"inline": yes}, "model": {"layers": DENSE}, "loss": "bce_with_logits", "epochs": 2},
        {"data": {"inline": three}, "model": {"layers": CLASSIFIER}, "loss": "cross_entropy", "epochs": 2, "batch_size": 8},
        {"data": {"generator": "xor"}, "model": {"layers": DENSE}, "loss": "bce_with_logits", "epochs": 2},
        {"data": {"dataset": "combined", "target": "price"}, "model": {"layers": DENSE}, "loss": "mse", "epochs": 2},
        {"data": {"dataset": "combined", "target": "kind"}, "model": "auto", "epochs": 2},
        {"data": {"dataset": "combined", "target": "price", "test": 0.2, "validation": 0.2}, "model": {"layers": DENSE},
         "loss": "huber", "epochs": 3, "batch_size": 16, "optimizer": "adam"},
        {"data": {"dataset": "pictured", "shape": [1, 8, 8]}, "model": {"layers": PICTURES}, "loss": "cross_entropy", "epochs": 2, "batch_size": 8},
        {"data": {"dataset": "pictured", "shape": [1, 8, 8]}, "model": {"layers": GRAPH}, "loss": "cross_entropy", "epochs": 2, "batch_size": 8},
        {"data": {"dataset": "combined", "target": "price", "time": "when", "window": {"length": 5}}, "model": {"layers": DENSE},
         "loss": "mse", "epochs": 2},
        {"data": {"dataset": "combined", "target": "price", "window": {"length": 4, "group": "kind"}, "test": 0.2}, "model": "auto", "epochs": 2},
        {"data": {"dataset": "combined", "target": "kind", "columns": {"b": {"scale": "minmax"}, "a": {"type": "category"}}},
         "model": {"layers": CLASSIFIER}, "loss": "cross_entropy", "epochs": 2},
    ]


class Drawer:
    """Values that a schema allows."""

    def __init__(self, document, random_):
        self.schemas, self.random = document["components"]["schemas"], random_

    def resolve(self, schema):
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def integer(self, schema):
        low, high = schema.get("minimum", -100), schema.get("maximum", schema.get("exclusiveMaximum", 1 << 20) - 1)
        if self.random.random() < 0.1:
            return self.random.choice([low, high])
        return min(high, low + int(math.exp(self.random.uniform(0, 4)) - 1))

    def number(self, schema):
        low = schema.get("minimum", schema.get("exclusiveMinimum", -2))
        high = schema.get("maximum", schema.get("exclusiveMaximum", 100))
        if self.random.random() < 0.1 and "minimum" in schema:
            return low
        return low + (high - low) * 10 ** self.random.uniform(-6, -0.01)

    def string(self, schema):
        pattern = schema.get("pattern", "")
        if pattern.startswith("^https?"):
            return "http://127.0.0.1:9/hook"
        if pattern.startswith("^(auto|cpu"):
            return self.random.choice(["auto", "cpu", "cuda", "cuda:0", "cuda:1"])
        if pattern.startswith("^(cpu|cuda)/"):
            return self.random.choice(["cpu/reference", "cpu/fused", "cpu/blocked"])
        if pattern == "^lr$":
            return "lr"
        words = ["price", "kind", "a", "when", "combined", "cpu", "cpu/reference", "cpu/fused", "lr", "x y", "last", "0"]
        return self.random.choice(words)[: schema.get("maxLength", 99)]

    def value(self, schema, depth=0, name=""):
        schema = self.resolve(schema)
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self.value(self.random.choice(schema[key]), depth, name)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if schema.get("examples") and self.random.random() < 0.3:
            return copy.deepcopy(self.random.choice(schema["examples"]))
        kind = schema.get("type", "null")
        kind = self.random.choice(kind) if isinstance(kind, list) else kind
        fits = NAMES.get(name, [None])
        if self.random.random() < 0.8 and isinstance(fits[0], {"string": str, "integer": int}.get(kind, ())):
            return self.random.choice(fits)
        if kind == "integer":
            return self.integer(schema)
        if kind == "number":
            return self.number(schema)
        if kind == "string":
            return self.string(schema)
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "array":
            most = min(schema.get("maxItems", 3), 3)
            count = self.random.randint(min(schema.get("minItems", 0), most), most)
            return [self.value(schema.get("items", {"type": "integer"}), depth + 1, name) for _ in range(count)]
        if kind == "object":
            properties, required = schema.get("properties", {}), schema.get("required", [])
            return {inner: self.value(within, depth + 1, inner) for inner, within in properties.items()
                    if inner in required or (self.random.random() < 0.35 and depth < 4)}
        return None


def columns_with_field(drawer, data):
    """How one or two columns of a table are read."""
    rule = drawer.schemas["ColumnRule"]["properties"]
    for column in drawer.random.sample(COLUMNS, drawer.random.choice([1, 1, 2])):
        name = drawer.random.choice(list(rule))
        data.setdefault("columns", {}).setdefault(column, {})[name] = drawer.value(rule[name], 0, name)
        yield f"column {name}"


def data_with_field(drawer, data, schema):
    """One field of the data: of those that all sources have, or that this one has."""
    source = next((each for each in schema["oneOf"] if each["required"][0] in data), {"properties": {}})
    own = {**schema["properties"], **source["properties"]}
    if data.get("dataset") == "combined" and drawer.random.random() < 0.3:
        yield from columns_with_field(drawer, data)
        return
    name = drawer.random.choice([n for n in own if n not in ("dataset", "generator", "inline", "path", "sha256", "columns")])
    data[name] = drawer.value(own[name], 0, name)
    if name == "window" and data[name] and drawer.random.random() < 0.8:
        data[name]["length"] = drawer.random.randint(1, 8)
    if name == "folds" and drawer.random.random() < 0.8:
        data["fold"] = drawer.random.randrange(2)
    yield f"data {name}"


def model_with_field(drawer, model):
    """First weights, frozen layers, or one more layer."""
    choice, layers = drawer.random.random(), model["layers"]
    if choice < 0.2:
        model["init"] = drawer.random.choice([{"job": "begun"}, {"job": "begun", "optimizer": True}, {"weights": "begun"},
                                              {"job": "begun", "checkpoint": "latest"}, None])
        yield "model init"
    elif choice < 0.3:
        model["freeze"] = [drawer.random.randrange(len(layers))]
        yield "model freeze"
    else:
        layer = drawer.value({"$ref": "#/components/schemas/Layer"})
        layers.insert(drawer.random.randint(0, len(layers)), layer)
        yield f"layer {layer['type']}"


def with_field(drawer, job, job_schema):
    """Sets one field of the job: at the top, in data, or in the model; yields its name."""
    place = drawer.random.random()
    if place < 0.5:
        name = drawer.random.choice([n for n in job_schema["properties"] if n not in ("data", "model", "slurm")])
        job[name] = drawer.value(job_schema["properties"][name])
        yield name
    elif place < 0.8:
        yield from data_with_field(drawer, job["data"], drawer.resolve(job_schema["properties"]["data"]))
    elif isinstance(job["model"], dict):
        yield from model_with_field(drawer, job["model"])


def sweep_with_field(drawer, sweep, schema):
    if drawer.random.random() < 0.4:
        axes = drawer.random.sample(list(AXES), drawer.random.choice([1, 2, 2, 3]))
        sweep["space"] = "auto" if drawer.random.random() < 0.1 else {axis: AXES[axis] for axis in axes}
        yield from ["sweep space"] if sweep["space"] == "auto" else [f"axis {axis}" for axis in axes]
        return
    name = drawer.random.choice([n for n in schema["properties"] if n not in ("job", "space")])
    sweep[name] = drawer.value(schema["properties"][name], 0, name)
    yield f"sweep {name}"


def draw(drawer):
    """A kind of request, its body, and the fields that were set."""
    schemas, fields = drawer.schemas, []
    job = copy.deepcopy(drawer.random.choice(bases()))
    count = drawer.random.choice([2, 2, 3])
    if drawer.random.random() < 0.4 and "generator" not in job["data"]:
        job["data"]["validation"] = 0.25
    if drawer.random.random() < 0.7:
        for _ in range(count):
            fields += with_field(drawer, job, schemas["JobSpec"])
        return "jobs", job, fields
    sweep = {"job": job, "search": "random", "max_trials": 3, "metric": "train.loss", "space": {"/optimizer": AXES["/optimizer"]}}
    for _ in range(count):
        if drawer.random.random() < 0.5:
            fields += [f"job {name}" for name in with_field(drawer, job, schemas["JobSpec"])]
        else:
            fields += sweep_with_field(drawer, sweep, schemas["SweepSpec"])
    return "sweeps", sweep, fields


class Server:
    def __init__(self, url):
        self.url = url

    def call(self, method, path, body=None, kind="application/json"):
        data = json.dumps(body).encode() if kind == "application/json" and body is not None else body
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            text = error.read()
            try:
                return error.code, json.loads(text)
            except ValueError:
                return error.code, {"detail": text.decode(errors="replace")}

    def upload(self):
        lines = ["a,b,when,kind,price"]
        for i in range(60):
            lines.append(f"{i % 7},{i * 13 % 11 / 10},2024-01-{i % 28 + 1:02},{'red green blue'.split()[i % 3]},{i * 3 % 17}.5")
        assert self.call("PUT", "/v1/datasets/combined", "\n".join(lines).encode(), "text/csv")[0] == 201
        pixels = "\n".join(",".join(str((i * j) % 5 / 4) for j in range(64)) for i in range(24))
        labels = "\n".join(str(i % 2) for i in range(24))
        assert self.call("PUT", "/v1/datasets/pictured/train/x", pixels.encode(), "text/csv")[0] in (200, 201)
        assert self.call("PUT", "/v1/datasets/pictured/train/y", labels.encode(), "text/csv")[0] in (200, 201)
        first = dict(bases()[0], name="begun", checkpoint={"every_seconds": 0, "keep": 1})
        status, job = self.call("POST", "/v1/jobs", first)
        assert status == 201 and self.call("GET", f"/v1/jobs/{job['id']}?wait=60")[1]["status"] == "succeeded"
        with urllib.request.urlopen(f"{self.url}/v1/jobs/{job['id']}/weights", timeout=60) as answer:
            weights = answer.read()
        assert self.call("PUT", "/v1/datasets/begun", weights, "application/octet-stream")[0] in (200, 201)


class Checker:
    def __init__(self, server):
        self.server, self.counts, self.violations = server, {}, 0
        self.running, self.fields = [], {}

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def violation(self, case, why, request):
        self.violations += 1
        print(f"case {case}: {why}: {json.dumps(request)[:1500]}", flush=True)

    def submit(self, case, kind, request, fields):
        judged, _ = self.server.call("POST", f"/v1/{kind}?validate=only", request)
        status, answer = self.server.call("POST", f"/v1/{kind}", request)
        if (judged == 200) != (status in (200, 201)):
            self.violation(case, f"validate says {judged}, and POST {status}", request)
        for field in fields:
            of_field = self.fields.setdefault(field, [0, 0])
            of_field[0] += 1
            of_field[1] += status == 201
        if status == 201:
            self.count("accepted")
            self.running.append((case, kind, request, answer["id"]))
        elif status == 422:
            pointers = [error.get("pointer") for error in answer.get("errors", [])]
            self.count("refused")
            if not pointers or not all(isinstance(p, str) and p.startswith("/") for p in pointers):
                self.violation(case, f"422 without a pointer: {answer}", request)
        else:
            self.violation(case, f"{status}: {answer}", request)
        while len(self.running) >= TOGETHER:
            self.reap()

    def reap(self):
        case, kind, request, id_ = self.running.pop(0)
        since = None  # it was seen to train
        while True:
            status, record = self.server.call("GET", f"/v1/{kind}/{id_}")
            if status == 200 and record["status"] in ("succeeded", "failed", "cancelled"):
                break
            if status == 404 and (request.get("ttl_seconds") or 10**6) < 60:
                record = {"status": "expired"}
                break
            since = since or (time.monotonic() if record["status"] == "running" else None)
            if since and time.monotonic() - since > LONG_SECONDS:
                self.server.call("POST", f"/v1/{kind}/{id_}/cancel")
                record = {"status": "long"}
                break
            time.sleep(0.02)
        error = record.get("error") or {}
        state = record["status"]
        if state == "failed" and error.get("status") == "diverged":
            state = "diverged"
        self.count(state)
        if state == "failed":
            self.violation(case, f"accepted, and failed: {error}", request)
        if "spec" in record:
            judged, answer = self.server.call("POST", f"/v1/{kind}?validate=only", record["spec"])
            if judged != 200:
                self.violation(case, f"its stored spec is refused: {judged} {answer.get('errors') or answer}", request)
        self.server.call("DELETE", f"/v1/{kind}/{id_}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("url")
    arguments.add_argument("openapi")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--case", type=int)
    options = arguments.parse_args()
    with open(options.openapi) as file:
        document = json.load(file)
    server = Server(options.url)
    server.upload()
    checker = Checker(server)
    cases = range(options.count) if options.case is None else [options.case]
    for case in cases:
        checker.submit(case, *draw(Drawer(document, random.Random(f"{options.seed}/{case}"))))
    while checker.running:
        checker.reap()
    never = [f"{field} ({drawn})" for field, (drawn, accepted) in sorted(checker.fields.items()) if not accepted]
    print(f"{len(checker.fields)} fields, of which none of the accepted cases has: {', '.join(never) or 'all had'}")
    summary(len(cases), checker.violations, **checker.counts)
    sys.exit(checker.violations > 0)


if __name__ == "__main__":
    main()
