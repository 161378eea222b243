#!/usr/bin/env python3
"""models.py URL: publishes models and requests predictions by the Open Inference Protocol. Written from the protocol's
text (and that of the binary tensor data extension), with the standard library and NumPy alone. The predictions
must be those of /predict, rounded to float32; faults must be refused with the right status."""

import gzip
import http.client
import json
import struct
import sys
import threading
import time
import urllib.parse

import numpy as np

TYPES = {"FP32": "<f4", "FP64": "<f8", "FP16": "<f2", "BOOL": "?", "UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4",
         "UINT64": "<u8", "INT8": "i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8"}
LENGTH = "Inference-Header-Content-Length"
checked = 0


def check(holds, what):
    global checked
    if not holds:
        sys.exit(f"FAILED: {what}")
    checked += 1


class Server:
    def __init__(self, url):
        self.where = urllib.parse.urlsplit(url)

    def ask(self, method, path, body=None, headers=None, want=200):
        """The answer's headers and bytes; its status must be `want`."""
        headers = dict(headers or {})
        if isinstance(body, dict):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.where.hostname, self.where.port, timeout=60)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        raw = answer.read()
        connection.close()
        check(answer.status == want, f"{method} {path} was answered {answer.status}, not {want}: {raw[:400]}")
        if want >= 400 and path.startswith("/v2"):
            fault = json.loads(raw)
            check(answer.getheader("Content-Type") == "application/json" and list(fault) == ["error"]
                  and fault["error"], f"{method} {path}: an error is {raw[:200]}")
        return answer, raw

    def json(self, method, path, body=None, want=200):
        return json.loads(self.ask(method, path, body, want=want)[1])

    def train(self, job):
        done = self.json("POST", "/v1/jobs", job, 201)
        while done["status"] in ("queued", "running"):
            done = self.json("GET", f"/v1/jobs/{done['id']}?wait=60")
        check(done["status"] == "succeeded", f"a job {done['status']}: {done['error']}")
        return done["id"]

    def predict(self, job, rows):
        answer = self.json("POST", f"/v1/jobs/{job}/predict", {"x": rows.reshape(len(rows), -1).tolist()})
        return np.array(answer["predictions"], dtype=np.float64)


def tensor_json(rows, datatype, nested=False):
    rows = rows.astype(TYPES[datatype])
    return {"name": "x", "shape": list(rows.shape), "datatype": datatype,
            "data": rows.tolist() if nested else rows.ravel().tolist()}


def tensor_binary(rows, datatype):
    data = rows.astype(TYPES[datatype]).tobytes()
    return {"name": "x", "shape": list(rows.shape), "datatype": datatype,
            "parameters": {"binary_data_size": len(data)}}, data


def texts_bytes(texts):
    """Each behind its length, as the extension has BYTES."""
    return b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in texts)


def texts_read(raw):
    texts = []
    while raw:
        size = struct.unpack("<I", raw[:4])[0]
        check(len(raw) >= 4 + size, "a text is cut off")
        texts.append(raw[4:4 + size].decode())
        raw = raw[4 + size:]
    return texts


def outputs_read(answer, raw):
    """An answer's tensors by name, be they in the JSON or behind it; every byte must be accounted for."""
    length = answer.getheader(LENGTH)
    kind = "application/json" if length is None else "application/octet-stream"
    check(answer.getheader("Content-Type") == kind, f"the answer is {answer.getheader('Content-Type')}")
    at = len(raw) if length is None else int(length)
    document = json.loads(raw[:at])
    found = {}
    for output in document["outputs"]:
        size = output.get("parameters", {}).get("binary_data_size")
        if size is None:
            values = np.array(output["data"])
        elif output["datatype"] == "BYTES":
            values = np.array(texts_read(raw[at:at + size]))
            at += size
        else:
            check("data" not in output, "an output has bytes and data")
            values = np.frombuffer(raw[at:at + size], TYPES[output["datatype"]])
            at += size
        found[output["name"]] = values.reshape(output["shape"])
    check(at == len(raw), f"{len(raw) - at} bytes too many follow")
    return document, found


def infer(server, path, request, data=b"", headers=None, want=200):
    head = json.dumps(request).encode()
    headers = dict(headers or {"Content-Type": "application/json"})
    if data:
        headers = {"Content-Type": "application/octet-stream", LENGTH: str(len(head)), **headers}
        headers["Content-Type"] = "application/octet-stream"
    answer, raw = server.ask("POST", f"{path}/infer", head + data, headers, want)
    return outputs_read(answer, raw) if want == 200 else None


def same(got, wanted, what):
    check(got.shape == wanted.shape, f"{what}: shape {got.shape}, not {wanted.shape}")
    check(not np.isnan(got.astype(float)).any(), f"{what}: not a number")
    check((got.astype(np.float32) == wanted.astype(np.float32)).all(), f"{what}: {got} is not {wanted}")


def every_way(server, model, job, rows, datatypes, classes):
    """The same rows in every datatype, as flat and nested JSON and as bytes, answered both ways."""
    path = f"/v2/models/{model}"
    for datatype in datatypes:
        # What a type cannot say, it does not: /predict gets the same numbers.
        wanted = server.predict(job, rows.astype(TYPES[datatype]).astype(np.float64))
        meta, data = tensor_binary(rows, datatype)
        ways = [({"inputs": [tensor_json(rows, datatype)]}, b""),
                ({"inputs": [tensor_json(rows, datatype, True)]}, b""), ({"inputs": [meta]}, data)]
        for request, behind in ways:
            for binary in (False, True):
                request["id"] = f"{datatype} \"{binary}\" é"
                request["parameters"] = {"binary_data_output": binary, "sequence_id": 7}
                document, found = infer(server, path, request, behind)
                what = f"{model}, {datatype}, {'bytes' if behind else 'JSON'} to {'bytes' if binary else 'JSON'}"
                check(document["id"] == request["id"] and document["model_name"] == model
                      and document["model_version"] == "1", f"{what}: {document}")
                same(found["predictions"], wanted, what)
                check(found["predictions"].dtype == (np.float32 if binary else np.float64), what)
                if classes is None:
                    check(list(found) == ["predictions"], f"{what}: {list(found)}")
                else:
                    check((found["class"] == classes(wanted)).all() and found["class"].shape == (len(rows),),
                          f"{what}: classes {found['class']}")
    return wanted


def choose(server, model, rows):
    """Outputs by name, each in its own way."""
    path = f"/v2/models/{model}"
    inputs = [tensor_json(rows, "FP32")]
    _, both = infer(server, path, {"inputs": inputs, "outputs": [
        {"name": "class", "parameters": {"binary_data": True}}, {"name": "predictions"}]})
    check(both["class"].dtype == np.int64 and both["predictions"].dtype == np.float64, "one each way")
    _, one = infer(server, path, {"inputs": inputs, "outputs": [{"name": "class"}]})
    check(list(one) == ["class"] and (one["class"] == both["class"]).all(), "the class alone")
    _, over = infer(server, path, {"inputs": inputs, "parameters": {"binary_data_output": True}, "outputs": [
        {"name": "predictions", "parameters": {"binary_data": False}}]})
    check(over["predictions"].dtype == np.float64, "binary_data goes before binary_data_output")
    infer(server, path, {"inputs": inputs, "outputs": None, "id": None, "parameters": None})
    infer(server, f"{path}/versions/1", {"inputs": inputs, "model_name": "another", "more": [{}]})


def clients(server, rows):
    """What clients send that is not in the text: no media type at all, a header length without bytes."""
    head = json.dumps({"inputs": [tensor_json(rows, "FP32")]}).encode()
    for headers in ({}, {LENGTH: str(len(head))}, {"Content-Type": "application/octet-stream"},
                    {"Content-Type": "application/json; charset=utf-8"}):
        server.ask("POST", "/v2/models/xor/infer", head, headers)


def lies(server, rows):
    """Sizes that are not so."""
    path = "/v2/models/xor"
    meta, data = tensor_binary(rows, "FP32")
    head = json.dumps({"inputs": [meta]}).encode()
    kind = {"Content-Type": "application/octet-stream"}
    for length in ("0", "-1", "+5", "1e3", "", " ", str(len(head) + len(data) + 1), "9" * 30, str(len(head) - 1),
                   str(len(head) + 1), str(len(head) + len(data)), "0x10", "5, 5"):
        server.ask("POST", f"{path}/infer", head + data, {**kind, LENGTH: length}, 400)
    server.ask("POST", f"{path}/infer", head + data, kind, 400)  # no length: all should be JSON
    server.ask("POST", f"{path}/infer", head, kind, 400)  # no bytes behind
    for size in (-1, 0, 1, len(data) - 1, len(data) + 1, 1 << 40, 1 << 63, 1.5, "32", None, True):
        infer(server, path, {"inputs": [dict(meta, parameters={"binary_data_size": size})]}, data, want=400)
    for more in (b"\0", data):
        infer(server, path, {"inputs": [meta]}, data + more, want=400)
    infer(server, path, {"inputs": [meta]}, data[:-1], want=400)
    infer(server, path, {"inputs": [dict(meta, data=[0] * 8)]}, data, want=400)
    infer(server, path, {"inputs": [tensor_json(rows, "FP32")]}, data, want=400)
    for bad in (float("nan"), float("inf"), -float("inf")):
        wrong = rows.copy()
        wrong[-1, -1] = bad
        for datatype in ("FP16", "FP32", "FP64"):
            meta, data = tensor_binary(wrong, datatype)
            infer(server, path, {"inputs": [meta]}, data, want=400)


def wrong(server, rows):
    """Requests that are not right, each wrong in one thing."""
    path = "/v2/models/xor"
    good = tensor_json(rows, "FP32")
    infer(server, path, {"inputs": [good]})
    for shape in ([], [8], [2, 4], [4, 2, 1], [4, 1, 2], [0, 2], [-1, 2], [-4, -2], [4, 2.5], ["4", 2], [3, 2], [5, 2],
                  None, 8, "4,2", {}, [4, [2]], [1, 1, 1, 1, 8]):
        infer(server, path, {"inputs": [dict(good, shape=shape)]}, want=400)
    for shape in ([1 << 62, 2], [(1 << 63) - 1, 2], [1 << 32, 1 << 32], [100001, 2], [1 << 31, 2]):
        infer(server, path, {"inputs": [dict(good, shape=shape)]}, want=413)
    infer(server, path, {"inputs": [dict(good, shape=[1 << 64, 2])]}, want=400)
    for datatype in ("FP8", "BF16", "BYTES", "fp32", "", None, 1):
        infer(server, path, {"inputs": [dict(good, datatype=datatype)]}, want=400)
    for name in ("input-0", "X", "", None, 1, "x" * 1000):
        infer(server, path, {"inputs": [dict(good, name=name)]}, want=400)
    for data in ([], [0] * 7, [0] * 9, [[0, 0]] * 3, [[0, 0]] * 5, [[0, 0, 0]] * 4, [[0], [0, 0]], [[[0, 0]]] * 4,
                 None, 8, "00000000", {}, [0] * 7 + ["0"], [0] * 7 + [None], [0] * 7 + [True], [0] * 7 + [1e39],
                 [[0, 0]] * 3 + [0, 0], [0, 0] + [[0, 0]] * 3):
        infer(server, path, {"inputs": [dict(good, data=data)]}, want=400)
    for datatype, value in (("UINT8", 256), ("UINT8", -1), ("UINT8", 0.5), ("INT32", 1 << 31), ("INT64", 1 << 63),
                            ("INT64", 0.5), ("INT64", 1 << 53), ("UINT64", (1 << 53) + 1), ("INT64", -(1 << 53)), ("UINT64", -1),
                            ("INT8", 128), ("INT8", -129), ("UINT16", 65536), ("FP16", 65520), ("BOOL", 2), ("BOOL", "true"),
                            ("BOOL", None), ("UINT8", True)):
        infer(server, path, {"inputs": [dict(good, datatype=datatype, data=[0] * 7 + [value])]}, want=400)
    for inputs in ([], [good, good], {}, None, 1, [1], [[]], [None]):
        infer(server, path, {"inputs": inputs}, want=400)
    for outputs in ({}, 1, [1], [{}], [{"name": 1}], [{"name": "y"}], [{"name": "class" * 30}],
                    [{"name": "class", "parameters": {"binary_data": 1}}]):
        infer(server, path, {"inputs": [good], "outputs": outputs}, want=400)
    infer(server, path, {"inputs": [good], "id": 5}, want=400)
    infer(server, path, {"inputs": [good], "id": "x" * 70000}, want=413)
    infer(server, path, {"inputs": [good], "parameters": {"binary_data_output": "yes"}}, want=400)
    for raw in (b"", b"{", b"[]", b"null", b"{}", b'{"inputs":[', b"\xff", b'{"inputs":[]}x', b"[" * 100000,
                b'{"inputs":' + b"[" * 100000, b'{"id":"a","id":"b"}', b'{"id":"\xff"}', b'{"id":"\\ud800"}'):
        server.ask("POST", f"{path}/infer", raw, {"Content-Type": "application/json"}, 400)
    packed(server, path, rows)


def packed(server, path, rows):
    """Content-Encoding: the length of the JSON is that of what comes out."""
    kind = {"Content-Type": "application/json"}
    meta, data = tensor_binary(rows, "FP16")
    head = json.dumps({"inputs": [meta]}).encode()
    _, raw = server.ask("POST", f"{path}/infer", gzip.compress(head + data), {
        "Content-Type": "application/octet-stream", LENGTH: str(len(head)), "Content-Encoding": "gzip"}, 200)
    check(raw == server.ask("POST", f"{path}/infer", head + data, {
        "Content-Type": "application/octet-stream", LENGTH: str(len(head))}, 200)[1], "packed, it is another request")
    answer, _ = server.ask("POST", f"{path}/infer", b"{}", {**kind, "Content-Encoding": "br"}, 415)
    check(answer.headers["Accept-Encoding"] == "gzip, identity", "it does not say which codings are taken")
    server.ask("POST", f"{path}/infer", b"{}", {**kind, "Content-Encoding": "gzip"}, 400)
    server.ask("POST", f"{path}/infer", gzip.compress(b" " * ((8 << 20) + 1)), {**kind, "Content-Encoding": "gzip"}, 413)


def limits(server):
    """Exactly as many numbers as one request may have, and one row more."""
    most = (8 << 20) // 8 // 42
    rows = np.zeros((most, 1, 6, 7))
    meta, data = tensor_binary(rows, "UINT8")
    begin = time.monotonic()
    _, found = infer(server, "/v2/models/letters", {"inputs": [meta], "parameters": {"binary_data_output": True}}, data)
    check(found["class"].shape == (most,), "as many rows as can be")
    print(f"{most} rows of 42 bytes in {time.monotonic() - begin:.2f} s")
    meta, data = tensor_binary(np.zeros((most + 1, 1, 6, 7)), "UINT8")
    infer(server, "/v2/models/letters", {"inputs": [meta]}, data, want=413)
    server.ask("POST", "/v2/models/xor/infer", b" " * ((8 << 20) + 1), {"Content-Type": "application/json"}, 413)


def metadata(server):
    server_meta = server.json("GET", "/v2")
    check(server_meta["name"] == "epochd" and "binary_tensor_data" in server_meta["extensions"]
          and server_meta["version"], f"GET /v2: {server_meta}")
    check(server.json("GET", "/v2/health/live") == {"live": True}, "live")
    check(server.json("GET", "/v2/health/ready") == {"ready": True}, "ready")
    for version in ("", "/versions/1"):
        model = server.json("GET", f"/v2/models/letters{version}")
        check(model["name"] == "letters" and model["versions"] == ["1"] and model["platform"], f"{model}")
        check(set(model["parameters"]["datatypes"]) == {*TYPES, "BYTES"}, f"{model}")
        check(model["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 1, 6, 7]}], f"{model}")
        check(model["outputs"] == [{"name": "predictions", "datatype": "FP32", "shape": [-1, 3]},
                                   {"name": "class", "datatype": "INT64", "shape": [-1]},
                                   {"name": "probabilities", "datatype": "FP32", "shape": [-1, 3]}], f"{model}")
        check(server.json("GET", f"/v2/models/letters{version}/ready") == {"name": "letters", "ready": True}, "ready")
    for path in ("/v2/models/none", "/v2/models/none/ready", "/v2/models/letters/versions/2", "/v2/models", "/v2/",
                 "/v2/models/letters/versions/1/more", "/v2/repository/index"):
        server.ask("GET", path, want=404)
    server.ask("POST", "/v2/models/none/infer", {"inputs": []}, want=404)
    server.ask("PUT", "/v2/models/letters", {}, want=405)
    listed = server.json("GET", "/v1/models")["data"]
    check([model["name"] for model in listed] == ["houses", "letters", "xor"], f"{listed}")
    for model in listed:
        check(server.json("GET", f"/v1/models/{model['name']}") == model, "a model as it is listed")


def people(server):
    """A table of words, dates and gaps, asked by the names of its columns: the answers are those of /predict."""
    lines = ["town,age,joined,kind"]
    for i in range(200):
        town, age = ("Oslo", "Århus", "")[i % 3], "" if i % 11 == 0 else str(i * 13 % 80)
        lines.append(f"{town},{age},191{i % 4}-0{i % 9 + 1}-1{i % 9},{'cat' if i % 3 == 0 or i * 13 % 80 > 60 else 'émeu'}")
    server.ask("PUT", "/v1/datasets/people", "\n".join(lines).encode(), want=201)
    job = server.train({"data": {"dataset": "people", "target": "kind"}, "loss": "cross_entropy", "epochs": 20,
                        "model": {"layers": [{"type": "linear", "out_features": 2}]}})
    server.ask("PUT", "/v1/models/people", {"job": job}, want=201)
    model = server.json("GET", "/v2/models/people")
    check(model["inputs"] == [{"name": name, "datatype": kind, "shape": [-1]} for name, kind in
                              (("town", "BYTES"), ("age", "FP64"), ("joined", "BYTES"))], f"{model}")
    check([(output["name"], output["datatype"], output["shape"]) for output in model["outputs"]] ==
          [("predictions", "FP32", [-1, 2]), ("class", "INT64", [-1]), ("class_name", "BYTES", [-1]),
           ("probabilities", "FP32", [-1, 2])], f"{model}")

    towns, ages, days = ["Oslo", "Århus", "", "elsewhere"], [31, None, 5.5, 70], ["1912-04-10", "1913-01-01", "", "1911-12-31"]
    rows = [{"town": town, "age": age, "joined": day} for town, age, day in zip(towns, ages, days)]
    wanted = server.json("POST", f"/v1/jobs/{job}/predict", {"rows": rows})
    check(set(wanted["classes"]) == {"cat", "émeu"}, f"{wanted}")
    town = {"name": "town", "datatype": "BYTES", "shape": [4], "data": towns}
    age = {"name": "age", "datatype": "FP64", "shape": [4, 1], "data": ages}
    joined = {"name": "joined", "datatype": "BYTES", "shape": [4], "data": days}
    behind = texts_bytes(towns), np.array([31, np.nan, 5.5, 70]).tobytes(), texts_bytes(days)
    cut = [{key: value for key, value in column.items() if key != "data"} | {"parameters": {"binary_data_size": len(data)}}
           for column, data in zip((town, age, joined), behind)]
    seconds = dict(joined, datatype="INT64", data=[None if not day else
                                                   int(np.datetime64(day, "s").astype(np.int64)) for day in days])
    nested = dict(age, datatype="FP32", data=[[value] for value in ages])
    for inputs, data in (([town, age, joined], b""), ([joined, town, age], b""), ([town, nested, seconds], b""),
                         (cut, b"".join(behind)), ([cut[1], joined, cut[0]], behind[1] + behind[0])):
        for binary in (False, True):
            request = {"inputs": inputs, "parameters": {"binary_data_output": binary}}
            _, found = infer(server, "/v2/models/people", request, data)
            what = f"columns {[column['name'] for column in inputs]}, {'bytes' if data else 'JSON'}"
            same(found["predictions"], np.array(wanted["predictions"]), what)
            same(found["probabilities"], np.array(wanted["probabilities"]), what)
            check(found["class_name"].tolist() == wanted["classes"], f"{what}: {found['class_name']}")
            check([wanted["class_names"][kind] for kind in found["class"]] == wanted["classes"], f"{what}: {found}")
    _, name = infer(server, "/v2/models/people", {"inputs": [town, age, joined], "outputs": [{"name": "class_name"}]})
    check(list(name) == ["class_name"], f"{list(name)}")

    def refused(inputs, word, data=b"", want=400):
        head = json.dumps({"inputs": inputs}).encode()
        kind = {"Content-Type": "application/octet-stream", LENGTH: str(len(head))}
        fault = json.loads(server.ask("POST", "/v2/models/people/infer", head + data, kind, want)[1])["error"]
        check(word in fault, f"{inputs}: {fault}")

    refused([town, joined], "/rows/0/age: is required by the model")
    refused([town, age, joined, dict(town, name="twon")], "did you mean \"town\"")
    refused([town, age, joined, town], "twice")
    refused([town, age, dict(joined, data=["soon"] * 4)], "must be a date")
    refused([town, dict(age, data=[1, 2, 3, "4"]), joined], "value 3 of the input \"age\"")
    refused([dict(town, data=[1] * 4), age, joined], "value 0 of the input \"town\"")
    refused([town, dict(age, shape=[3], data=[1, 2, 3]), joined], "3 rows")
    refused([town, dict(age, data=[1, 2, 3]), joined], "a list of 4 cells")
    refused([town, dict(age, shape=[2, 2]), joined], "must be [rows]")
    refused([dict(town, name="t" * 200), age, joined], "as long as")
    refused([dict(town, datatype="BOOL"), age, joined], "BOOL")
    refused([dict(joined, shape=[100001]), town, age], "at most", want=413)
    refused(cut, "follow", b"".join(behind)[:-1])
    refused(cut, "belongs to no input", b"".join(behind) + b"\0")
    refused(cut, "value 1 of the input \"town\"", texts_bytes(["Oslo"]) + b"\xff" * (len(behind[0]) - 8) + behind[1] + behind[2])
    refused(cut, "value 0 of the input \"town\"", texts_bytes(["\0slo"]) + behind[0][8:] + behind[1] + behind[2])
    refused([cut[0], dict(cut[1], parameters={"binary_data_size": 31}), cut[2]], "is 31", b"".join(behind))
    house = {"inputs": [{"name": name, "datatype": "FP64", "shape": [1], "data": [value]}
                        for name, value in (("c", 3), ("a", 1), ("b", 2))]}
    _, by_name = infer(server, "/v2/models/houses", house)
    _, by_place = infer(server, "/v2/models/houses", {"inputs": [tensor_json(np.array([[1, 2, 3]]), "FP64")]})
    same(by_name["predictions"], by_place["predictions"], "a table of numbers, by its names")
    infer(server, "/v2/models/xor", {"inputs": [{"name": "a", "datatype": "FP64", "shape": [1], "data": [1]}]}, want=400)
    server.ask("DELETE", "/v1/models/people", want=204)


def publishing(server, job, other):
    """Names, and what keeps a job."""
    again = server.json("PUT", "/v1/models/xor", {"job": other}, 200)
    check(again["job"] == other, f"{again}")
    problem = server.json("DELETE", f"/v1/jobs/{other}", want=409)
    check("\"xor\"" in problem["detail"], f"{problem}")
    server.ask("PUT", "/v1/models/second", {"job": other}, want=201)
    server.ask("DELETE", "/v1/models/xor", want=204)
    server.ask("DELETE", f"/v1/jobs/{other}", want=409)
    server.ask("DELETE", "/v1/models/second", want=204)
    server.ask("DELETE", f"/v1/jobs/{other}", want=204)
    problem = server.json("PUT", "/v1/models/xor", {"job": other}, 404)
    check(problem["errors"][0]["pointer"] == "/job", f"{problem}")
    for body in ({}, {"job": 5}, {"job": job, "version": 2}, {"job": None}):
        server.ask("PUT", "/v1/models/xor", body, want=422)
    for name in (".hidden", "a%2Fb", "a b", "x" * 129, "%00"):
        check(server_refuses(server, name, job), f"the name {name} was taken")
    server.ask("PUT", "/v1/models/xor", {"job": job}, want=201)


def server_refuses(server, name, job):
    connection = http.client.HTTPConnection(server.where.hostname, server.where.port, timeout=60)
    connection.putrequest("PUT", f"/v1/models/{name.replace(' ', '%20')}")
    body = json.dumps({"job": job}).encode()
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    status = connection.getresponse().status
    connection.close()
    return 400 <= status < 500


def race(server, job_spec):
    """A job is deleted while it is published: one of the two must lose, each time."""
    kept = 0
    for turn in range(12):
        job = server.train(job_spec)
        answers = {}

        def send(key, method, path, body=None):
            connection = http.client.HTTPConnection(server.where.hostname, server.where.port, timeout=60)
            raw = json.dumps(body) if body else None
            connection.request(method, path, raw, {"Content-Type": "application/json"} if body else {})
            answers[key] = connection.getresponse().status
            connection.close()

        threads = [threading.Thread(target=send, args=("put", "PUT", "/v1/models/race", {"job": job})),
                   threading.Thread(target=send, args=("delete", "DELETE", f"/v1/jobs/{job}"))]
        for thread in threads[::1 if turn % 2 else -1]:
            thread.start()
        for thread in threads:
            thread.join()
        published, deleted = answers["put"] == 201, answers["delete"] == 204
        check(published != deleted, f"publishing was answered {answers['put']}, deleting {answers['delete']}")
        check(answers["delete" if published else "put"] == (409 if published else 404), f"{answers}")
        kept += published
        if published:
            infer(server, "/v2/models/race", {"inputs": [tensor_json(np.zeros((1, 2)), "FP32")]})
            server.ask("DELETE", "/v1/models/race", want=204)
            server.ask("DELETE", f"/v1/jobs/{job}", want=204)
    print(f"of 12 jobs that were published and deleted at once {kept} were published")


def datasets(server):
    """A table with two columns to predict, and small images of three kinds."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-3, 3, (60, 3))
    table = np.column_stack([x, 1000 + 50 * x[:, 0] - x[:, 1] * x[:, 2]])
    server.ask("PUT", "/v1/datasets/houses", "a,b,c,price\n" + "\n".join(",".join(map(repr, map(float, row)))
                                                                         for row in table), want=201)
    labels = rng.integers(0, 3, 90, dtype=np.uint8)
    images = rng.integers(0, 60, (90, 6, 7), dtype=np.uint8)
    for image, label in zip(images, labels):
        image[2 * label:2 * label + 2] += 180
    head = struct.pack(">4B3I", 0, 0, 8, 3, 90, 6, 7)
    server.ask("PUT", "/v1/datasets/letters/train/x", head + images.tobytes(), want=201)
    server.ask("PUT", "/v1/datasets/letters/train/y", struct.pack(">4BI", 0, 0, 8, 1, 90) + labels.tobytes())
    return x[:5], images[:7, None], labels[:7]


def main():
    server = Server(sys.argv[1])
    xor_rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64)
    xor_spec = {"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 2000, "report_every": 2000,
                "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                                     {"type": "linear", "out_features": 1}]},
                "optimizer": {"type": "sgd", "lr": 0.5, "momentum": 0.9}}
    house_rows, images, labels = datasets(server)
    xor = server.train(xor_spec)
    houses = server.train({"data": {"dataset": "houses", "target": "price", "standardize": ["x", "y"]}, "loss": "mse",
                           "model": {"layers": [{"type": "linear", "out_features": 6}, {"type": "tanh"},
                                                {"type": "linear", "out_features": 1}]},
                           "optimizer": {"type": "sgd", "lr": 0.05}, "epochs": 300})
    letters = server.train({"data": {"dataset": "letters"}, "loss": "cross_entropy", "epochs": 30, "batch_size": 15,
                            "model": {"layers": [{"type": "conv2d", "out_channels": 4, "kernel_size": 3},
                                                 {"type": "relu"}, {"type": "flatten"},
                                                 {"type": "linear", "out_features": 3}]},
                            "optimizer": {"type": "adam", "lr": 0.01}})
    for name, job in (("xor", xor), ("houses", houses), ("letters", letters)):
        model = server.json("PUT", f"/v1/models/{name}", {"job": job}, 201)
        check(model["name"] == name and model["job"] == job and model["infer"] == f"/v2/models/{name}/infer", f"{model}")
    metadata(server)
    every_way(server, "xor", xor, xor_rows, TYPES, lambda z: z[:, 0] > 0)
    every_way(server, "houses", houses, house_rows, ("FP32", "FP64", "FP16", "INT16", "UINT32", "INT32", "INT64"), None)
    every_way(server, "letters", letters, images, TYPES, lambda z: z.argmax(1))
    every_way(server, "letters", letters, images.reshape(7, -1), ("UINT8",), lambda z: z.argmax(1))
    check((server.predict(letters, images).argmax(1) == labels).all(), "the images were learnt")
    infer(server, "/v2/models/letters", {"inputs": [tensor_json(images.transpose(0, 1, 3, 2), "FP32")]}, want=400)
    infer(server, "/v2/models/houses", {"inputs": [tensor_json(house_rows, "FP32")], "outputs": [{"name": "class"}]},
          want=400)
    choose(server, "xor", xor_rows)
    people(server)
    clients(server, xor_rows)
    lies(server, xor_rows)
    wrong(server, xor_rows)
    limits(server)
    publishing(server, xor, server.train(xor_spec))
    race(server, xor_spec)
    every_way(server, "xor", xor, xor_rows, ("FP32",), lambda z: z[:, 0] > 0)
    print(f"{checked} checks hold")


if __name__ == "__main__":
    main()
