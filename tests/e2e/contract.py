#!/usr/bin/env python3
"""contract.py URL OPENAPI: requests every operation of the contract, well and badly. Of each response the
status and the media type must be listed, and the body must fit its schema. So must the body of a job or of a
change that is accepted."""

import copy
import http.client
import io
import json
import struct
import sys
import time
import urllib.parse
import zipfile

import jsonschema

import pictures
from operations import Contract

XOR = {
    "data": {"generator": "xor"},
    "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                         {"type": "linear", "out_features": 1}]},
    "loss": "bce_with_logits", "optimizer": {"lr": 0.5, "momentum": 0.9}, "epochs": 1000,
    "report_every": 100,
}
LINE = {
    "data": {"dataset": "line", "target": "b", "test": 0.25}, "loss": "mse", "epochs": 50,
    "model": {"layers": [{"type": "linear", "out_features": 1}]}, "optimizer": {"lr": 0.001},
}
# words, dates, gaps, and a cell that is not of its column's type
PEOPLE = b"sex,born,age\n,,\n" + b"f,1990-01-01,old\n" + b"".join(
    b"%s,1990-01-%02d,%d\n" % (b"m" if i % 2 else b"f", i % 28 + 1, i) for i in range(200))
CSV = b"a,b\n" + b"".join(b"%d,%d\n" % (i, 2 * i) for i in range(40))


def end_of(ask, path):
    """Waits for the end of a job or a sweep: the response that has it, and its body."""
    while True:
        answer, raw = ask("GET", f"{path}?wait=30", 200)
        if json.loads(raw)["status"] in ("succeeded", "failed", "cancelled"):
            return answer, raw


def jobs(contract):
    ask = contract.ask
    ask("POST", "/v1/jobs?validate=only", 200, XOR)
    _, raw = ask("POST", "/v1/jobs", 201, XOR)
    job = json.loads(raw)["id"]
    ask("POST", "/v1/jobs", 201, XOR, {"Accept": "application/x-ndjson"})
    ask("POST", "/v1/jobs", 201, XOR, {"Accept": "text/event-stream"})
    ask("POST", "/v1/jobs", 400, "{", {"Content-Type": "application/json"})
    ask("POST", "/v1/jobs", 413, " " * 1048577, {"Content-Type": "application/json"})
    ask("POST", "/v1/jobs", 415, "{}", {"Content-Type": "text/plain"})
    ask("POST", "/v1/jobs", 422, dict(XOR, epochs=0))
    answer, _ = end_of(ask, f"/v1/jobs/{job}")
    ask("GET", f"/v1/jobs/{job}", 304, headers={"If-None-Match": answer.getheader("ETag")})
    ask("GET", f"/v1/jobs/{job}?wait=x", 400)
    ask("GET", "/v1/jobs", 200)
    ask("GET", "/v1/jobs?limit=1&state=succeeded", 200)
    ask("GET", "/v1/jobs?limit=0", 400)
    answer, _ = ask("GET", "/v1/jobs?view=summary&tag=none", 200)
    ask("GET", "/v1/jobs?view=summary&search=xor", 200)
    answer, _ = ask("GET", "/v1/jobs?view=summary", 200)
    ask("GET", "/v1/jobs?view=summary", 304, headers={"If-None-Match": answer.getheader("ETag")})
    return job


def labels(contract, job):
    """What can be changed of a job, and jobs beside each other."""
    ask = contract.ask
    path = f"/v1/jobs/{job}"
    _, raw = ask("POST", "/v1/jobs", 201, dict(XOR, epochs=2000, seed=2, tags=["all"]))
    other = json.loads(raw)["id"]
    end_of(ask, f"/v1/jobs/{other}")
    ask("PATCH", path, 200, {"name": "=1+1", "tags": ["all", "x"]})
    ask("PATCH", path, 200, '{"name": null}', {"Content-Type": "application/merge-patch+json"})
    ask("PATCH", path, 400, "{", {"Content-Type": "application/json"})
    ask("PATCH", "/v1/jobs/job_00000000000000000000000000", 404, {})
    ask("PATCH", path, 409, {"priority": 1})
    ask("PATCH", path, 413, " " * 65537, {"Content-Type": "application/json"})
    ask("PATCH", path, 415, "{}", {"Content-Type": "text/plain"})
    ask("PATCH", path, 422, {"epochs": 5})
    ask("GET", "/v1/jobs?tag=all&tag=x&view=summary", 200)
    ask("GET", f"/v1/compare?jobs={job},{other}", 200)
    ask("GET", f"/v1/compare?jobs={job},{other}&max_points=5&format=csv", 200)
    ask("GET", "/v1/compare", 400)
    ask("GET", "/v1/compare?jobs=job_00000000000000000000000000", 404)


def visibility(contract, path):
    """What can be changed of a dataset and of a model."""
    ask = contract.ask
    ask("PATCH", path, 200, {"visibility": "private"})
    ask("PATCH", path, 200, '{"visibility": "public"}', {"Content-Type": "application/merge-patch+json"})
    ask("PATCH", path, 400, "{", {"Content-Type": "application/json"})
    ask("PATCH", path + "-none", 404, {})
    ask("PATCH", path, 413, " " * 65537, {"Content-Type": "application/json"})
    ask("PATCH", path, 415, "{}", {"Content-Type": "text/plain"})
    ask("PATCH", path, 422, {"name": "other"})


def ended(contract, job):
    ask = contract.ask
    path = f"/v1/jobs/{job}"
    ask("GET", f"{path}/events?every=300&after=1", 200)
    _, raw = ask("GET", f"{path}/events", 200, headers={"Accept": "text/event-stream"})
    last = raw.decode().rsplit("id: ", 1)[1].split("\n")[0]
    ask("GET", f"{path}/events", 204, headers={"Accept": "text/event-stream", "Last-Event-ID": last})
    ask("GET", f"{path}/events?after=x", 400)
    for query in ("", "?max_points=3", "?format=csv", "?format=svg", "?format=tfevents"):
        ask("GET", f"{path}/curve{query}", 200)
    ask("GET", f"{path}/curve?max_points=1", 400)
    answer, _ = ask("GET", f"{path}/weights", 200)
    ask("GET", f"{path}/weights", 304, headers={"If-None-Match": answer.getheader("ETag")})
    ask("GET", f"{path}/weights", 206, headers={"Range": "bytes=0-7"})
    ask("GET", f"{path}/weights", 416, headers={"Range": "bytes=99999999-"})
    for query in ("json", "c", "c&quantize=int8"):
        ask("GET", f"{path}/weights?format={query}", 200)
    for query in ("npz&quantize=int8", "pt"):
        ask("GET", f"{path}/weights?format={query}", 400)
    answer, _ = ask("GET", f"{path}/predictions", 200)
    ask("GET", f"{path}/predictions", 304, headers={"If-None-Match": answer.getheader("ETag")})
    ask("GET", f"{path}/predictions?format=csv", 200)
    ask("GET", f"{path}/predictions?format=xml", 400)
    ask("GET", f"{path}/inputs", 200)
    ask("POST", f"{path}/predict", 200, {"x": [[0, 1], [1, 1]]})
    ask("POST", f"{path}/predict", 400, "{", {"Content-Type": "application/json"})
    ask("POST", f"{path}/predict", 413, " " * (8 << 20 | 1), {"Content-Type": "application/json"})
    ask("POST", f"{path}/predict", 415, "{}", {"Content-Type": "text/plain"})
    ask("POST", f"{path}/predict", 422, {"x": [[1, 2, 3]]})
    for plot, code in (("", 200), ("/roc", 200), ("/roc?format=svg", 200), ("/boundary?size=5&format=png", 200), ("/roc?size=1", 400), ("/x", 404)):
        ask("GET", f"{path}/plots{plot}", code)
    ask("POST", f"{path}/cancel", 200)


def ranks(contract):
    """A job on four ranks: how it is cut, and what each rank did."""
    ask = contract.ask
    four = dict(LINE, data={"generator": "disc", "rows": 100}, loss="mse", device="cpu", parallel={"data": 2, "model": 2})
    four["model"] = {"layers": [{"type": "linear", "out_features": 4}, {"type": "relu"}, {"type": "linear", "out_features": 1}]}
    ask("POST", "/v1/jobs?validate=only", 200, four)
    ask("POST", "/v1/jobs", 422, dict(four, parallel={"model": 4}))
    _, raw = ask("POST", "/v1/jobs", 201, four)
    _, raw = end_of(ask, f"/v1/jobs/{json.loads(raw)['id']}")
    job = json.loads(raw)
    if len(job["ranks"] or []) != 4 or len(job["parallel"]["stages"]) != 2:
        contract.fault(f"a job on four ranks has {job['ranks']}, {job['parallel']}")


def failed(contract):
    """A job whose loss is not finite any more."""
    ask = contract.ask
    diverging = dict(LINE, data={"generator": "disc", "rows": 100}, loss="mse", optimizer={"lr": 1e30})
    _, raw = ask("POST", "/v1/jobs", 201, diverging)
    path = f"/v1/jobs/{json.loads(raw)['id']}"
    _, raw = end_of(ask, f"{path}")
    job = json.loads(raw)
    if job["status"] != "failed" or not job["error"]:
        contract.fault(f"a job that diverges ended as {job['status']}: {job['error']}")
    ask("GET", f"{path}/events", 200)
    ask("GET", f"{path}/curve", 200)
    ask("DELETE", path, 204)


def running(contract):
    """What a job that has not ended answers."""
    ask = contract.ask
    _, raw = ask("POST", "/v1/jobs", 201, dict(XOR, epochs=900000000, report_every=1000000))
    path = f"/v1/jobs/{json.loads(raw)['id']}"
    ask("GET", path, 200)
    ask("GET", "/v1/queue", 200)
    ask("GET", f"{path}/events?follow=0", 200)
    ask("GET", f"{path}/weights", 409)
    ask("GET", f"{path}/predictions", 409)
    ask("GET", f"{path}/inputs", 409)
    ask("POST", f"{path}/predict", 409, {"x": [[0, 1]]})
    ask("DELETE", path, 409)
    ask("POST", f"{path}/cancel", 200)
    end_of(ask, f"{path}")
    ask("DELETE", path, 204)
    ask("GET", path, 404)


def webhooks(contract):
    """Messages of a job and of a sweep, to an address that is not public."""
    ask = contract.ask
    hooks = {"webhooks": [{"url": "http://127.0.0.1:9/", "events": ["end", "failed"]}]}
    sweep = {"job": XOR, "space": {"/seed": {"values": [1]}}, "metric": "train.loss"}
    for kind, spec, none in ("jobs", XOR, "job_00000000000000000000000000"), ("sweeps", sweep, "swp_00000000000000000000000000"):
        _, raw = ask("POST", f"/v1/{kind}", 201, dict(spec, **hooks))
        path = f"/v1/{kind}/{json.loads(raw)['id']}/webhooks"
        until(lambda: any(message["attempts"] > 0 for message in json.loads(ask("GET", path, 200)[1])["data"]))
        ask("GET", f"/v1/{kind}/{none}/webhooks", 404)
    ask("POST", "/v1/jobs", 422, dict(XOR, webhooks=[{"url": "ftp://a"}]))


def checkpoints(contract):
    """A job that is paused and resumed, and what it has by then."""
    ask = contract.ask
    _, raw = ask("POST", "/v1/jobs", 201, dict(XOR, epochs=900000000, report_every=1000000, checkpoint={"every_seconds": 0}))
    path = f"/v1/jobs/{json.loads(raw)['id']}"
    until(lambda: b'"checkpoint"' in ask("GET", f"{path}/events?follow=0", 200)[1])
    ask("POST", f"{path}/predict?checkpoint=latest", 200, {"x": [[0, 1]]})
    ask("POST", f"{path}/pause", 202)
    until(lambda: json.loads(ask("GET", path, 200)[1])["status"] == "paused")
    ask("POST", f"{path}/pause", 202)
    _, raw = ask("GET", f"{path}/checkpoints", 200)
    newest = json.loads(raw)["data"][0]
    answer, _ = ask("GET", newest["weights"]["url"], 200)
    if answer.getheader("ETag") != f'"{newest["weights"]["sha256"]}"':
        contract.fault(f"the weights of a checkpoint have the ETag {answer.getheader('ETag')}")
    latest = f"{path}/checkpoints/latest/weights"
    ask("GET", latest, 304, headers={"If-None-Match": answer.getheader("ETag")})
    ask("GET", latest, 206, headers={"Range": "bytes=0-7"})
    ask("GET", latest, 416, headers={"Range": "bytes=99999999-"})
    ask("GET", f"{latest}?format=onnx", 400)
    ask("GET", f"{path}/checkpoints/{newest['step'] + 1}/weights", 404)
    ask("POST", f"{path}/predict?checkpoint={newest['step']}", 200, {"x": [[0, 1]]})
    ask("POST", f"{path}/predict?checkpoint={newest['step'] + 1}", 404, {"x": [[0, 1]]})
    ask("POST", f"{path}/resume", 202)
    ask("POST", f"{path}/resume", 202)
    ask("POST", f"{path}/cancel", 200)
    end_of(ask, f"{path}")
    ask("POST", f"{path}/pause", 409)
    ask("POST", f"{path}/resume", 409)
    ask("GET", f"{path}/events", 200)  # paused and resumed among them


def sweeps(contract):
    ask = contract.ask
    short = {"job": dict(XOR, epochs=200), "space": {"/optimizer/lr": {"log_uniform": [0.01, 1]}, "/seed": {"values": [1, 2, 3]}},
             "metric": "train.loss", "max_trials": 6}
    endless = {"job": dict(XOR, epochs=900000000), "space": {"/seed": {"int_uniform": [1, 9]}}, "metric": "train.loss"}
    ask("POST", "/v1/sweeps?validate=only", 200, short)
    _, raw = ask("POST", "/v1/sweeps", 201, short)
    path = f"/v1/sweeps/{json.loads(raw)['id']}"
    ask("POST", "/v1/sweeps", 201, short, {"Accept": "application/x-ndjson"})
    ask("POST", "/v1/sweeps", 201, short, {"Accept": "text/event-stream"})
    ask("POST", "/v1/sweeps", 400, "{", {"Content-Type": "application/json"})
    ask("POST", "/v1/sweeps", 413, " " * 1048577, {"Content-Type": "application/json"})
    ask("POST", "/v1/sweeps", 415, "{}", {"Content-Type": "text/plain"})
    ask("POST", "/v1/sweeps", 422, dict(short, max_trials=0))
    answer, raw = end_of(ask, f"{path}")
    last = json.loads(raw)["progress"]["done"]
    if last != 6:
        contract.fault(f"a sweep of 6 trainings ended after {last}")
    ask("GET", path, 304, headers={"If-None-Match": answer.getheader("ETag")})
    ask("GET", f"{path}?wait=-1", 400)
    answer, _ = ask("GET", "/v1/sweeps?state=succeeded", 200)
    ask("GET", "/v1/sweeps?state=succeeded", 304, headers={"If-None-Match": answer.getheader("ETag")})
    ask("GET", "/v1/sweeps?limit=0", 400)
    ask("GET", f"{path}/events", 200)
    answer, _ = ask("GET", f"{path}/events", 200, headers={"Accept": "text/event-stream"})
    ask("GET", f"{path}/events?after=100", 204, headers={"Accept": "text/event-stream"})
    ask("GET", f"{path}/events?after=x", 400)
    ask("GET", f"{path}/trials?limit=2&offset=3", 200)
    ask("GET", f"{path}/trials?format=csv&sort=trial", 200)
    ask("GET", f"{path}/trials?sort=name", 400)
    ask("GET", f"{path}/trials/5", 200)
    ask("GET", f"{path}/study", 409)
    _, raw = ask("POST", "/v1/sweeps", 201, dict(short, space={"/seed": {"values": [1, 2]}, "/shuffle": {"values": [True, False]}}))
    grid = f"/v1/sweeps/{json.loads(raw)['id']}"
    end_of(ask, f"{grid}")
    ask("GET", f"{grid}/study", 200)
    ask("GET", f"{path}/trials/6", 404)
    ask("POST", f"{path}/trials/5/promote", 201)
    ask("POST", f"{path}/trials/5/promote", 200)
    ask("POST", f"{path}/trials/6/promote", 404)
    for thing in ("curve", "weights", "predictions"):
        ask("GET", f"{path}/trials/6/{thing}", 404)
        ask("GET", f"{path}/trials/x/{thing}", 404)
    ask("PATCH", path, 200, {"name": "a sweep", "tags": ["many"]})
    ask("PATCH", path, 400, "{", {"Content-Type": "application/json"})
    ask("PATCH", path, 413, " " * 1048577, {"Content-Type": "application/json"})
    ask("PATCH", path, 415, "{}", {"Content-Type": "text/plain"})
    ask("PATCH", path, 422, {"names": 1})
    ask("PATCH", path, 409, {"priority": 1})
    _, raw = ask("POST", "/v1/sweeps", 201, endless)
    busy = f"/v1/sweeps/{json.loads(raw)['id']}"
    ask("DELETE", busy, 409)
    things = [f"{path}/trials/1/{thing}" for thing in ("curve", "weights", "predictions")]
    for thing in things:
        ask("GET", thing, 202)  # the endless one has the device
    ask("POST", f"{busy}/pause", 202)
    until(lambda: json.loads(ask("GET", busy, 200)[1])["status"] == "paused")
    until(lambda: contract.status_of(things[0]) == 307)
    for thing in things:
        ask("GET", thing, 307)
    ask("POST", f"{busy}/resume", 202)
    ask("POST", f"{busy}/cancel", 200)
    end_of(ask, f"{busy}")
    ask("POST", f"{busy}/pause", 409)
    ask("POST", f"{busy}/resume", 409)
    ask("DELETE", path, 204)
    none = "/v1/sweeps/swp_00000000000000000000000000"
    for method, target, body in (("GET", none, None), ("DELETE", none, None), ("PATCH", none, {"name": "x"}),
                                 ("POST", f"{none}/cancel", None), ("POST", f"{none}/pause", None),
                                 ("POST", f"{none}/resume", None), ("GET", f"{none}/events", None),
                                 ("GET", f"{none}/trials", None), ("GET", f"{none}/study", None)):
        ask(method, target, 404, body)


def until(done):
    for _ in range(2400):
        if done():
            return
        time.sleep(0.05)
    raise SystemExit("it does not come about in two minutes")


def picture_folders():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("cat/1.png", "dog/1.png", "readme"):
            archive.writestr(name, pictures.png(4, 4, bytes(range(16))))
    return packed.getvalue()


def datasets(contract):
    ask = contract.ask
    ask("PUT", "/v1/datasets/pets?size=8x6&channels=3", 201, picture_folders())
    ask("PUT", "/v1/datasets/pets?size=8", 400, picture_folders())
    ask("GET", "/v1/datasets/pets", 200)
    ask("PUT", "/v1/datasets/line", 201, CSV)
    ask("PUT", "/v1/datasets/line?header=true&delimiter=comma", 200, CSV)
    ask("PUT", "/v1/datasets/wrong", 422, b"a,b\n1,inf\n")
    visibility(contract, "/v1/datasets/line")
    ask("PUT", "/v1/datasets/people", 201, PEOPLE)
    ask("GET", "/v1/datasets/people", 200)
    ask("GET", "/v1/datasets/people/rows?limit=3&offset=1", 200)
    ask("GET", "/v1/datasets/people/rows?split=test", 400)
    answer, _ = ask("GET", "/v1/datasets/pets/rows", 200)
    ask("GET", "/v1/datasets/pets/rows", 304, headers={"If-None-Match": answer.getheader("ETag")})
    ask("GET", "/v1/datasets/none/rows", 404)
    ask("DELETE", "/v1/datasets/people", 204)
    ask("PUT", "/v1/datasets/wrong", 415, bytes(1000))
    ask("PUT", "/v1/datasets/wrong?header=perhaps", 400, CSV)
    ask("PUT", "/v1/datasets/wrong", 413, b"1,2\n" * 260000)
    answer, _ = ask("GET", "/v1/datasets/line", 200)
    for method in ("GET", "HEAD"):
        ask(method, "/v1/datasets/line", 304, headers={"If-None-Match": answer.getheader("ETag")})
        ask(method, "/v1/datasets/none", 404)
    ask("HEAD", "/v1/datasets/line", 200)
    ask("POST", "/v1/datasets?file=made.csv", 201, "a,b\n1,2\n3,4\n", {"Content-Type": "text/csv"})
    ask("POST", "/v1/datasets?file=made.csv", 200, "a,b\n1,2\n3,4\n", {"Content-Type": "text/csv"})
    ask("POST", "/v1/datasets?file=made.csv", 422, "a,b\n1\n", {"Content-Type": "text/csv"})
    ask("POST", "/v1/datasets?file=made.csv&header=maybe", 400, "a,b\n1,2\n", {"Content-Type": "text/csv"})
    ask("GET", "/v1/datasets", 200)
    _, raw = ask("POST", "/v1/jobs", 201, LINE)
    line = json.loads(raw)["id"]
    end_of(ask, f"/v1/jobs/{line}")
    ask("GET", f"/v1/jobs/{line}/predictions", 200)
    _, raw = ask("POST", "/v1/jobs", 201, dict(LINE, epochs=900000000, report_every=1000000))
    busy = json.loads(raw)["id"]
    ask("DELETE", "/v1/datasets/line", 409)
    ask("POST", f"/v1/jobs/{busy}/cancel", 200)
    end_of(ask, f"/v1/jobs/{busy}")
    ask("DELETE", "/v1/datasets/line", 204)
    ask("DELETE", "/v1/datasets/line", 404)


def parts(contract):
    """x and y by themselves, and weights."""
    ask = contract.ask
    images = b"\0\0\x08\x02" + struct.pack(">2I", 4, 4) + bytes(range(16))
    head = json.dumps({"0.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    ask("PUT", "/v1/datasets/bits/train/x", 201, images)
    ask("PUT", "/v1/datasets/bits/train/y?header=false", 200, b"0\n1\n1\n0\n")
    ask("GET", "/v1/datasets/bits", 200)
    ask("PUT", "/v1/datasets/bits/test/x?header=perhaps", 400, images)
    ask("PUT", "/v1/datasets/bits/test/x", 413, b"1,2\n" * 260000)
    ask("PUT", "/v1/datasets/bits/test/x", 415, bytes(1000))
    ask("PUT", "/v1/datasets/bits/test/x", 422, images[:-1])
    ask("PUT", "/v1/datasets/table", 201, CSV)
    ask("PUT", "/v1/datasets/table/train/x", 409, images)
    ask("PUT", "/v1/datasets/start", 201, struct.pack("<Q", len(head)) + head + bytes(4))
    ask("GET", "/v1/datasets", 200)
    _, raw = ask("POST", "/v1/jobs", 201, dict(LINE, data={"dataset": "bits"}))
    end_of(ask, f"/v1/jobs/{json.loads(raw)['id']}")


def dashboard(contract):
    """The page and its files, in a build that has them."""
    page = {"Accept": "text/html"}
    answer, raw = contract.ask("GET", "/", 200, headers=page)
    contract.ask("GET", "/assets/nothing.js", 404)
    contract.ask("GET", "/assets/views/jobs/nothing.js", 404)
    if b"no dashboard" in raw:
        NOT_HERE.update({("front", "304"), ("asset", "200"), ("asset", "304"), ("asset_view", "200"), ("asset_view", "304")})
        return
    contract.ask("GET", "/", 304, headers=dict(page, **{"If-None-Match": answer.getheader("ETag")}))
    for path in ("/assets/main.js", "/assets/style.css", "/assets/views/jobs/jobs.js"):
        answer, _ = contract.ask("GET", path, 200)
        contract.ask("GET", path, 304, headers={"If-None-Match": answer.getheader("ETag")})


def models(contract):
    """Published models, and inference by the KServe V2 protocol."""
    ask = contract.ask
    _, raw = ask("POST", "/v1/jobs", 201, XOR)
    job = json.loads(raw)["id"]
    end_of(ask, f"/v1/jobs/{job}")
    plain = {"Content-Type": "application/json"}
    ask("PUT", "/v1/models/xor", 201, {"job": job})
    ask("PUT", "/v1/models/xor", 200, {"job": job})
    ask("PUT", "/v1/models/xor", 400, "{", plain)
    ask("PUT", "/v1/models/xor", 404, {"job": "job_0"})
    ask("PUT", "/v1/models/xor", 413, " " * 1048577, plain)
    ask("PUT", "/v1/models/xor", 415, "{}", {"Content-Type": "text/plain"})
    ask("PUT", "/v1/models/xor", 422, {"jobs": job})
    _, raw = ask("POST", "/v1/jobs", 201, dict(XOR, epochs=900000000, report_every=1000000))
    busy = json.loads(raw)["id"]
    ask("PUT", "/v1/models/busy", 409, {"job": busy})
    ask("POST", f"/v1/jobs/{busy}/cancel", 200)
    ask("GET", "/v1/models", 200)
    ask("GET", "/v1/models/xor", 200)
    visibility(contract, "/v1/models/xor")
    ask("DELETE", f"/v1/jobs/{job}", 409)
    for path in ("/v2", "/v2/health/live", "/v2/health/ready"):
        ask("GET", path, 200)
    tensor = {"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [0, 1, 1, 1]}
    for version in ("", "/versions/1"):
        path = f"/v2/models/xor{version}"
        none = f"/v2/models/none{version}"
        for end in ("", "/ready"):
            ask("GET", path + end, 200)
            ask("GET", none + end, 404)
        ask("POST", f"{path}/infer", 200, {"inputs": [tensor], "id": "1"})
        ask("POST", f"{path}/infer", 200, {"inputs": [tensor], "parameters": {"binary_data_output": True}})
        ask("POST", f"{path}/infer", 400, {"inputs": [dict(tensor, shape=[2, 3])]})
        ask("POST", f"{none}/infer", 404, {"inputs": [tensor]})
        ask("POST", f"{path}/infer", 413, " " * (8 << 20 | 1), plain)
        ask("POST", f"{path}/infer", 415, "{}", {"Content-Type": "text/csv"})
    ask("DELETE", "/v1/models/xor", 204)
    for method in ("GET", "DELETE"):
        ask(method, "/v1/models/xor", 404)


def others(contract):
    ask = contract.ask
    for path in ("/v1/devices", "/v1/queue", "/metrics", "/livez", "/readyz", "/openapi.json", "/"):
        ask("GET", path, 200)
    ask("GET", "/nowhere", 404)
    for template in contract.document["paths"]:
        path = template.replace("{room}", "jobs").replace("{id}", "job_0").replace("{name}", "none").replace("{step}", "latest").replace("{n}", "0")
        path = path.replace("{split}", "train").replace("{part}", "x")
        answer, _ = ask("BREW", path, 405)
        listed = {method.upper() for method in contract.document["paths"][template]}
        allowed = set((answer.getheader("Allow") or "").split(", "))
        if allowed - {"HEAD"} != listed - {"HEAD"}:
            contract.fault(f"{path} takes {allowed}, the contract has {listed}")
        if "{id}" in template:
            for method in sorted(listed):
                body = {"x": [[1]]} if path.endswith("predict") else {} if method == "PATCH" else None
                ask(method, path, 404, body)


def canary(contract, job):
    """The comparison can fail: an answer without its id, and with a word for a number."""
    _, raw = contract.ask("GET", f"/v1/jobs/{job}", 200)
    schema = {"$ref": "#/components/schemas/Job"}
    for key, value in (("id", None), ("attempt", "one"), ("status", "done"), ("stopped", "bored")):
        broken = copy.deepcopy(json.loads(raw))
        if value is None:
            del broken[key]
        else:
            broken[key] = value
        if contract.fits(schema, broken) is None:
            contract.fault(f"a job whose {key} is broken was taken")
    schema = {"$ref": "#/components/schemas/JobSpec"}
    for key, value in (("loss", "hubert"), ("optimizer", {"type": "adam", "momentum": 0.9}), ("epochs", 0),
                       ("data", {"generator": "xor", "rows": 4}), ("model", {"layers": [{"type": "linear"}]})):
        if contract.fits(schema, dict(XOR, **{key: value})) is None:
            contract.fault(f"a spec whose {key} is broken was taken")


def main():
    url, path = sys.argv[1:]
    with open(path, encoding="utf-8") as text:
        contract = Contract(url, json.load(text))
    for schema in contract.document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    begin = time.monotonic()
    job = jobs(contract)
    labels(contract, job)
    ended(contract, job)
    ranks(contract)
    failed(contract)
    running(contract)
    checkpoints(contract)
    webhooks(contract)
    sweeps(contract)
    datasets(contract)
    parts(contract)
    dashboard(contract)
    models(contract)
    others(contract)
    canary(contract, job)
    _, raw = contract.ask("GET", "/openapi.json", 200)
    if json.loads(raw) != contract.document:
        contract.fault("the contract that is served is another")
    for operation, status in contract.unseen():
        contract.fault(f"no answer {status} of {operation} was looked at")
    print(f"{len(contract.seen)} kinds of answers were held against the contract "
          f"in {time.monotonic() - begin:.1f} s, {contract.faults} faults")
    return contract.faults != 0


if __name__ == "__main__":
    sys.exit(main())
