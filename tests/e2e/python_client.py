#!/usr/bin/env python3
"""python_client.py lists|numpy|checkpoints|cut|progress|notebook FOLDER: one part of the test of clients/python/epochd.
EPOCHD and EPOCHD_TOKEN say where the daemon is."""
import copy
import io
import json
import math
import os
import pickle
import pty
import socket
import struct
import subprocess
import sys
import threading
import time
import types
import warnings
import xml.etree.ElementTree
import zipfile
import zlib

part, folder = sys.argv[1:3]
if part != "numpy":
    sys.modules["numpy"] = None  # as if it were not installed
import epochd  # noqa: E402 (after NumPy was hidden)
from epochd import Client, EpochdError, JobFailed  # noqa: E402

DEVICE = os.environ.get("EPOCHD_TEST_DEVICE", "cpu")
XOR = {"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 1000, "device": DEVICE, "tags": ["xor", part],
       "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                            {"type": "linear", "out_features": 1}]},
       "optimizer": {"lr": 0.5, "momentum": 0.9}}


def raises(kind, action):
    try:
        action()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def png(shade):
    """A grey picture of 8 x 8 pixels."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(bytes([0, *[shade] * 8]) * 8)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)


def archive(pictures):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, shade in pictures.items():
            made.writestr(name, png(shade))
    return file.getvalue()


def predicts_pictures(client):
    client.upload("shades", archive({f"{'light' if i % 2 else 'dark'}/{i}.png": 180 + i if i % 2 else 40 + i for i in range(24)}))
    job = client.train({"data": {"dataset": "shades"}, "model": "auto", "epochs": 100}, False, name="shades")
    path = os.path.join(folder, "one.png")
    with open(path, "wb") as file:
        file.write(png(30))
    assert client.predict("shades", path) == "dark" and job.predict(png(220)) == "light"
    try:
        job.predict("rows.csv")
        raise AssertionError("a table is taken for a picture")
    except ValueError as error:
        assert "predict_csv" in str(error)
    assert job.predict(archive({"a.png": 30, "b.png": 220})) == {"a.png": "dark", "b.png": "light"}


def line_data():
    """y = 2 a - b + 3, in 40 rows."""
    x = [[(at * 7 % 11) / 11, (at * 5 % 13) / 13] for at in range(40)]
    return x, [2 * a - b + 3 for a, b in x]


def basics(plain):
    """What works alike with lists and with NumPy's arrays; `plain` makes lists of either."""
    client = Client()
    job = client.train(XOR, progress=False)
    assert job.status == "succeeded" and job.metrics["test"]["accuracy"] == 1, job.document
    assert [round(row[0]) > 0 for row in plain(job.predict([[0, 0], [0, 1], [1, 0], [1, 1]]))] == [False, True, True, False]
    sides = job.decide([[0, 0], [0, 1], [1, 0], [1, 1]], 0.5)
    assert sides["classes"] == [0, 1, 1, 0] and sides["threshold"] == 0.5, sides
    assert job.decide([[0, 1]], "f1")["classes"] == [1]
    fault = raises(epochd.EpochdError, lambda: job.decide([[0, 0]], 1.5))
    assert fault.errors[0][0] == "/threshold", fault.errors
    events = list(job.events())
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)) and events[-1]["type"] == "end"
    assert len(list(job.events(after=events[-3]["seq"]))) == 2
    curve = job.curve()
    assert plain(curve["epoch"])[-1] == 1000 and len(curve["loss"]) == len(curve["epoch"]) == 1000
    assert curve["validation_loss"] is None and len(job.curve(max_points=50)["loss"]) == 50
    weights = job.weights()
    assert sorted(weights) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    document = json.loads(client._bytes("GET", f"/v1/jobs/{job.id}/weights?format=json"))
    flat = [value for row in plain(weights["0.weight"]) for value in row]
    assert len(flat) == 8 and all(abs(have - want) < 1e-6 for have, want in zip(flat, numbers(document["tensors"]["0.weight"])))
    assert job.id in [one.id for one in client.jobs(state="succeeded")] and len(client.jobs(limit=1)) == 1
    assert client.validate(XOR)["parameters"] == 17
    job.save(os.path.join(folder, "xor.onnx"), "onnx")
    size = os.path.getsize(os.path.join(folder, "xor.onnx"))
    assert size > 200
    raises(EpochdError, lambda: job.save(os.path.join(folder, "xor.onnx"), "pickle"))
    assert os.path.getsize(os.path.join(folder, "xor.onnx")) == size, "a refusal took the file"
    again = client.upload("first", weights, replace=True)
    assert again["role"] == "weights" and again["tensors"] == 4, again
    return client, job


def inside(client):
    """What the layers looked like, and a learning rate."""
    job = client.train(dict(XOR, report={"layers": True}, report_batches=1, batch_size=2), progress=False)
    layers = job.layers()
    first = layers["layers"]["0"]
    assert layers["epoch"][0] == 1 and len(layers["epoch"]) == len(first["gradient_norm"]) == len(first["counts"])
    assert first["type"] == "linear" and first["weight_norm"][-1] > 0 and layers._repr_html_().count("<svg") == 2
    assert any(event["type"] == "batch" and event["batch"] == 1 for event in job.events())
    found = client.find_lr(XOR).found
    assert found["proposal"] > 0 and len(found["lr"]) == len(found["loss"]) and client.train(
        dict(XOR, optimizer={"lr": found["proposal"]}), progress=False).status == "succeeded"


def together(client, job):
    """Names, tags, and jobs side by side."""
    other = client.train(dict(XOR, optimizer={"lr": 0.25, "momentum": 0.9}), progress=False)
    assert job.update(name="first", tags=["one", part]).name == "first" and job.refresh().tags == ["one", part]
    assert [one.id for one in client.jobs(tags=[part, "one"])] == [job.id]
    assert raises(EpochdError, lambda: job.update(epochs=3)).status == 422
    answer = client.compare([job, other.id], max_points=20)
    assert [one["id"] for one in answer["jobs"]] == [job.id, other.id]
    assert {"pointer": "/optimizer/lr", "values": [0.5, 0.25]} in answer["differences"], answer["differences"]
    assert all(2 <= len(curve["loss"]) <= 20 for curve in answer["curves"])


def numbers(tensor):
    data = tensor["data"]
    return [value for row in data for value in row] if isinstance(data[0], list) else data


def uploads(client, x, y):
    line = {"model": {"layers": [{"type": "linear", "out_features": 1}]}, "loss": "mse", "optimizer": {"lr": 0.3},
            "epochs": 4000, "device": DEVICE}
    stored = client.upload("line", {"x_train": x, "y_train": y, "x_test": x[:10], "y_test": y[:10]}, replace=True)
    assert stored["parts"]["train"]["x"]["shape"] == [2] and stored["parts"]["test"]["x"]["rows"] == 10, stored
    job = client.train(dict(line, data={"dataset": "line"}), progress=False)
    assert job.metrics["test"]["rmse"] < 1e-3, job.metrics
    path = os.path.join(folder, "line.csv")
    with open(path, "w") as file:
        file.write("a,b,y\n" + "".join(f"{row[0]},{row[1]},{target}\n" for row, target in zip(x, y)))
    assert client.upload("csv", path, replace=True)["rows"] == 40  # the float32 of the part with NumPy are other bytes
    with open(path, "rb") as file:
        assert client.upload("csv", io.BytesIO(file.read()))["rows"] == 40
    job = client.train(json.dumps(dict(line, data={"dataset": "csv"})), progress=False)
    assert job.metrics["train"]["rmse"] < 1e-3, job.metrics
    assert {one["name"] for one in client.datasets()} >= {"line", "csv", "first"}
    answer = job.predict_csv(path)
    assert abs(answer["predictions"][0][0] - y[0]) < 1e-2 and len(answer["predictions"]) == 40, answer
    with open(path, "rb") as file:
        text = file.read()
    assert job.predict_csv(text) == job.predict_csv(io.BytesIO(text)) == answer
    written = client.upload("semicolons", b"1;2\n3;4\n", delimiter=";", header=False, replace=True)
    assert written["rows"] == 2 and client.dataset("semicolons")["columns"] == written["columns"], written
    assert client.upload("semicolons", b"1;2\n3;4\n", delimiter=None, header=True, replace=True)["rows"] == 1
    raises(TypeError, lambda: client.upload("semicolons", b"1;2\n3;4\n", separator=";"))
    raises(TypeError, lambda: job.predict_csv(b"a,b\n1,2\n", separator=";"))
    rows = client.dataset_rows("csv", limit=2, offset=1)
    assert len(rows) == 2 and [*rows[1]] == ["a", "b", "y"] and abs(rows[1]["b"] - x[2][1]) < 1e-12, rows
    many = job.predict([[0.25, 0.5]] * 150_000)  # more than one request may carry
    assert len(many) == 150_000 and abs(many[-1][0] - 3) < 1e-2


def errors(client, job):
    fault = raises(EpochdError, lambda: client.submit(dict(XOR, optimiser={}, epochs=0)))
    assert fault.status == 422 and {"/optimiser", "/epochs"} <= {pointer for pointer, _ in fault.errors}, fault.errors
    assert raises(EpochdError, lambda: client.job("job_00000000000000000000000000")).status == 404
    assert raises(EpochdError, lambda: Client(token="wrong").jobs()).status == 401
    assert raises(EpochdError, lambda: client.upload("bad", b"a,b\n1,2\n1,2,3\n")).status == 422
    failed = raises(JobFailed, lambda: client.train(dict(XOR, loss="mse", optimizer={"lr": 1e6}, epochs=500,
                    model={"layers": [{"type": "linear", "out_features": 1}]}), progress=False))
    assert failed.job.status == "failed" and "at a learning rate of" in str(failed) and "{" not in str(failed), failed
    raises(ValueError, lambda: epochd.read_safetensors(b"no such file"))
    raises(ValueError, lambda: client.upload("ragged", {"x": [[1, 2], [3]], "y": [0, 1]}))
    raises(ValueError, lambda: Client("127.0.0.1:8080"))
    raises(OSError, lambda: Client("http://127.0.0.1:9").submit(XOR))
    long = client.submit(dict(XOR, epochs=900_000_000, report_every=1_000_000))
    assert long.cancel().wait(check=False).status == "cancelled"
    long.delete()
    assert raises(EpochdError, long.refresh).status == 404
    raises(AttributeError, lambda: job.no_such_field)


def checkpoints():
    """What a job has while it trains, and what a pause leaves."""
    client = Client()
    long = client.submit(dict(XOR, epochs=900_000_000, report_every=1_000_000, checkpoint={"every_seconds": 0}))
    for event in long.events():
        if event["type"] == "checkpoint":
            break
    assert long.pause().status in ("pausing", "paused") and long.pause().status in ("pausing", "paused")
    for event in long.events():
        if event["type"] == "paused":
            break
    while long.refresh().status == "pausing":  # the event is on disk a moment before the state is shown
        time.sleep(0.01)
    assert long.status == "paused" and [one.id for one in client.jobs(state="paused")] == [long.id]
    newest = long.checkpoints()[0]
    assert newest["epoch"] == event["epoch"] > 0 and newest["step"] >= newest["epoch"] and newest["job"] == long.id, newest
    weights = long.weights(checkpoint="latest")
    assert sorted(weights) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert weights == long.weights(checkpoint=newest["step"])
    long.save(os.path.join(folder, "so-far.safetensors"), checkpoint="latest")
    with open(os.path.join(folder, "so-far.safetensors"), "rb") as file:
        assert epochd.read_safetensors(file.read()) == weights
    assert raises(EpochdError, lambda: long.save(os.path.join(folder, "no.onnx"), "onnx", checkpoint="latest")).status == 400
    rows = [[0, 0], [0, 1]]
    assert long.predict(rows, checkpoint="latest") == long.predict(rows, checkpoint=newest["step"])
    assert raises(EpochdError, lambda: long.weights()).status == 409
    assert raises(EpochdError, lambda: long.weights(checkpoint=newest["step"] + 1)).status == 404
    assert long.resume().status in ("queued", "running")
    for later in long.events(after=event["seq"]):
        if later["type"] == "epoch":
            break
    assert later["epoch"] > newest["epoch"], "it starts from the beginning"
    assert long.cancel().wait(check=False).status == "cancelled"
    assert raises(EpochdError, long.pause).status == raises(EpochdError, long.resume).status == 409
    said = io.StringIO()
    sys.stderr, kept = said, sys.stderr
    show = epochd.display.Terminal()
    for event in long.events():
        show(event)
    sys.stderr = kept
    assert f"paused: at epoch {newest['epoch']} of 900000000" in said.getvalue() and "resumed: " in said.getvalue(), said.getvalue()
    print("ok: checkpoints, pause, resume")


class Cutter:
    """A proxy before the daemon that cuts every answer to a GET after so many bytes: first within the
    first line, then further on."""

    def __init__(self, address):
        self.target, self.cuts, self.bytes = address, 0, 40
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        with client, socket.create_connection(self.target) as daemon:
            request = client.recv(65536)
            daemon.sendall(request)
            left = None
            if b"/events" in request.split(b"\r\n")[0]:
                self.bytes, left = min(self.bytes * 3, 200_000), self.bytes
            else:
                threading.Thread(target=self.upwards, args=(client, daemon), daemon=True).start()
            while chunk := daemon.recv(4096):
                client.sendall(chunk if left is None else chunk[:left])
                if left is not None:
                    left -= len(chunk)
                    if left <= 0:
                        self.cuts += 1
                        return

    @staticmethod
    def upwards(client, daemon):
        try:
            while chunk := client.recv(65536):
                daemon.sendall(chunk)
        except OSError:
            pass


def cut():
    """Every stream is cut again and again: no event is missed, none is seen twice."""
    host, port = os.environ["EPOCHD"].removeprefix("http://").split(":")
    cutter = Cutter((host, int(port)))
    # the daemon answers to its own name only
    client = Client(cutter.url)
    job = client.submit(dict(XOR, report_every=1))
    seen = [event["seq"] for event in job.events(patience=20)]
    assert seen == list(range(1, len(seen) + 1)) and len(seen) >= 1003, (len(seen), seen[:20])
    assert cutter.cuts >= 4, cutter.cuts
    cutter.listener.close()
    print(f"ok: {len(seen)} events over {cutter.cuts + 1} connections")
    lost = epochd.Job(Client("http://127.0.0.1:9"), job.document)
    raises(OSError, lambda: list(lost.events(patience=0.5)))


def draw():
    Client().train(dict(XOR, report_every=10))


def progress():
    """Lines in a pipe, a bar on a terminal."""
    command = [sys.executable, "-c", f"import sys; sys.argv = ['', 'draw', ''];"
               f"exec(compile(open({__file__!r}).read(), {__file__!r}, 'exec'))"]
    piped = subprocess.run(command, capture_output=True, text=True, timeout=60)
    lines = piped.stderr.splitlines()
    assert piped.returncode == 0 and len(lines) == 12 and "\r" not in piped.stderr, piped.stderr
    assert lines[-2].startswith("1000/1000 loss ") and lines[-1] == "end: succeeded", lines
    master, slave = pty.openpty()
    process = subprocess.Popen(command, stderr=slave, stdout=slave)
    os.close(slave)
    drawn = b""
    try:
        while chunk := os.read(master, 65536):
            drawn += chunk
    except OSError:
        pass  # how Linux says that the other side is closed
    assert process.wait(60) == 0, drawn
    assert b"\r[####" in drawn and b"1000/1000" in drawn and b"end: succeeded" in drawn, drawn
    print("ok: a bar, and lines")


def notebook():
    """A stand-in for IPython: what is displayed is well-formed and shows the curve."""
    shown = []

    class Handle:
        def update(self, job):
            shown.append(job._repr_html_())

    def display(job, display_id):
        assert display_id is True
        shown.append(job._repr_html_())
        return Handle()

    module, inner = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    inner.display = display
    sys.modules.update({"IPython": module, "IPython.display": inner})
    Client().train(dict(XOR, name="<script>&", data={"generator": "disc", "rows": 60, "validation": 0.3}))
    assert len(shown) >= 2
    root = xml.etree.ElementTree.fromstring(shown[-1].replace("&amp;", "&#38;"))
    assert len(root.findall("svg/polyline")) == 2 and "<script>" not in shown[-1], shown[-1]
    axes = [text.text for text in root.iter("text")]
    assert {"epoch", "loss", "training", "validation", "1,000"} <= set(axes), axes
    assert root.find("progress").get("value") == "1.0000" and "succeeded" in root.find("div").text
    print("ok: a notebook shows the curve")


def series():
    """A forecast of a series by windows."""
    client = Client()
    table = [{"hour": hour, "temp": 10 + 5 * math.sin(hour * math.pi / 12)} for hour in range(600)]
    client.upload("hours", ("hour,temp\n" + "".join(f"{row['hour']},{row['temp']}\n" for row in table)).encode())
    job = client.train({
        "data": {"dataset": "hours", "target": "temp", "time": "hour", "window": {"length": 24}, "test": 0.2, "standardize": ["y"]},
        "model": {"layers": [{"type": "linear", "out_features": 1}]},
        "loss": "mse", "optimizer": {"type": "adam", "lr": 0.02}, "epochs": 150, "batch_size": 32}, progress=False)
    found = [row[0] for row in job.predict(table[400:424], steps=12)]
    assert len(found) == 12 and max(abs(one - row["temp"]) for one, row in zip(found, table[424:])) < 0.5, found
    text = ("hour,temp\n" + "".join(f"{row['hour']},{row['temp']}\n" for row in table[400:424])).encode()
    assert [row[0] for row in job.predict(text, steps=12)] == found == [row[0] for row in job.predict_csv(text, steps=12)["predictions"]]
    assert "1 row ahead" in repr(job), repr(job)
    raises(epochd.EpochdError, lambda: job.predict(table[:3], steps=2))
    raises(ValueError, lambda: job.predict(table[400:424], future=table[424:426]))
    client.upload("sites", ("site,temp\n" + "".join(f"{site},{20 * (site == 'Oslo') + row['temp']}\n" for row in table for site in ("Rome", "Oslo"))).encode())
    job = client.train({"data": {"dataset": "sites", "target": "temp", "window": {"length": 24, "group": "site"}}, "model": "auto", "epochs": 2}, progress=False)
    found = job.predict([{"site": site, "temp": row["temp"]} for row in table[:30] for site in ("Rome", "Oslo")], steps=3)
    assert list(found) == ["Rome", "Oslo"] and all(len(rows) == 3 for rows in found.values()), found
    assert "(the last value:" in repr(job) and "mae" in repr(job), repr(job)
    print("ok: a forecast")


class Frame:
    """A stand-in for a DataFrame: what the client asks of one."""

    def __init__(self, rows, index=None):
        self.rows, self.columns, self.index = rows, list(rows[0]), types.SimpleNamespace(names=[index])

    def to_dict(self, orient):
        assert orient == "records"
        return self.rows

    def reset_index(self):
        return Frame([{self.index.names[0]: f"2024-01-{at + 1:02}", **row} for at, row in enumerate(self.rows)])


def tables():
    """Uploads, trainings and predictions of tables: DataFrames, lists of dicts, files."""
    client = Client()
    flats = [{"area": 30 + at * 37 % 90, "town": ("Ulm", "Köln")[at % 2], "rent": 10 * (30 + at * 37 % 90) + 200 * (at % 2),
              "cheap": ("no", "yes")[at % 90 < 45]} for at in range(300)]
    assert client.upload("days", Frame(flats[:9], "day")).columns[0].name == "day"
    assert client.upload("frame", Frame(flats)).rows == client.upload("dicts", flats).rows == 300
    odd = client.upload("odd", [{"x": "93,5", "y": None}, {"x": "1,5", "y": True}, {"x": "2,5", "y": False}], missing=["?"])
    assert odd.rows == 3 and odd.dialect.delimiter in ("tab", "\t") and odd.dialect.decimal == ",", odd.dialect
    assert client.upload("dicts", flats).name == "dicts"  # it has that content
    assert '"dicts-2"; replace=True' in str(raises(UserWarning, lambda: client.upload("dicts", flats[:9]))) and client.dataset("dicts").rows == 300
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        other = client.train(flats[:90], False, target="rent", name="dicts", epochs=2)
    assert len(said) == 1 and other.spec.data.dataset == "dicts-3", (said, other.spec.data)
    first = client.submit({"data": {"dataset": "dicts", "target": "rent"}, "model": "auto", "epochs": 1})
    assert client.upload("dicts", flats[:9], replace=True).name == "dicts" and client.dataset("dicts").rows == 9
    assert '"dicts" was replaced' in str(raises(epochd.EpochdError, lambda: client.submit(first.spec)))
    again = client.submit(first.spec, data={"sha256": None})  # on its present rows
    assert again.spec.data.sha256 != first.spec.data.sha256 and again.spec.data.target == "rent", again.spec.data
    path = os.path.join(folder, "all flats.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write("area,town,rent\n" + "".join(f"{row['area']},{row['town']},{row['rent']}\n" for row in flats))
    job = client.train(path, False, epochs=60)  # the last column
    assert job.spec.data.dataset == "all-flats" and job.spec.epochs == job.progress.epochs == 60, job.spec
    assert job.metrics.test.r2 == job.metrics["test"]["r2"] > 0.9 and "r2" in dir(job.metrics.test), job.metrics
    assert {"metrics", "spec", "curve"} <= set(dir(job)) and "rmse" in str(raises(AttributeError, lambda: job.metrics.test.r3))
    one = job.predict({"area": 80, "town": "Ulm"})
    assert abs(one - 800) < 150 and one == job.predict([{"town": "Ulm", "area": 80}, {"area": 50, "town": "Köln"}])[0], one
    three = [{key: row[key] for key in ("area", "town")} for row in flats[:3]]
    assert len(job.predict(Frame(three))) == 3 and list(job.predict(Frame(three))) == list(client.predict(job.id, three))
    named = client.submit(Frame(flats), target="rent", name=".flats: 50 % off", epochs=2)
    assert named.name == ".flats: 50 % off" and named.spec["data"]["dataset"] == "flats--50---off"
    cheap = client.train(Frame(flats), False, target="cheap", name="some")
    assert cheap.spec.data.dataset == cheap.name == "some" and cheap.predict(flats[0]) in ("no", "yes")
    assert set(cheap.predict(flats)) <= {"no", "yes"}
    model = client.publish("cheap", cheap, threshold="f1", visibility="private")
    assert (model.job, model.visibility) == (cheap.id, "private") and 0 < model.threshold < 1, model
    assert client.predict("model:cheap", flats[0]) in ("no", "yes") and client.publish("cheap", job.id).job == job.id
    refusal = raises(EpochdError, lambda: client.upload("bad", b"a;b\n1;2\n", decimal=",", thousands=","))
    assert "decimal= and thousands= are both" in str(refusal), refusal
    assert repr(job).startswith("<Job ") and job.id in repr(job) and ": succeeded, 60/60 epochs, test r2 0.9" in repr(job), job
    assert repr(job.curve()).startswith("<Curve of 60 epochs: epoch, loss"), job.curve()
    drawn = xml.etree.ElementTree.fromstring(f"<div>{job.curve()._repr_html_()}</div>")
    assert {"epoch", "loss"} <= {text.text for text in drawn.iter("text")} and job.curve().loss[-1] > 0
    sent, quiet = [], Client()
    quiet._json = lambda method, path, body, *rest, **options: sent.append(body) or {"id": "job_1"}
    quiet.submit({"data": {"dataset": "dicts"}, "model": "auto"}, target="cheap", task="classification", seed=2, data={"test": 0.1})
    assert sent == [{"data": {"dataset": "dicts", "target": "cheap", "task": "classification", "test": 0.1}, "model": "auto",
                     "seed": 2}], sent
    chosen = epochd.fields.Fields(job.document, auto={"summary": "A regression of rent.", "baseline": {
        "metric": "r2", "value": 0, "of": "the mean alone"}, "hint": "task: classification"}, kept={"epoch": 3, "reason": "epoch 3 of 60, the lowest"})
    told = epochd.Job(client, chosen)
    assert "(the mean alone: 0)" in repr(told) and "kept epoch 3 of 60" in repr(told) and "<p>A regression of rent.</p>" in told._repr_html_(), told
    said, kept = io.StringIO(), sys.stderr
    sys.stderr = said
    epochd.display.Terminal(told).close()
    sys.stderr = kept
    lines = said.getvalue().splitlines()
    assert lines[:2] == ["A regression of rent.", "task: classification"] and lines[3:] == ["kept epoch 3 of 60, the lowest"], lines
    assert lines[2].startswith("test r2 0.9") and lines[2].endswith(" (the mean alone: 0)"), lines
    print("ok: tables")


def charts():
    """Axes for awkward values."""
    for values in ([1, 1], [0, 0], [-3, 5], [1e-9, 1e9], [0.5, float("nan"), 0.25], [1e6, 1.2e6], [1, 25]):
        picture = epochd.charts.chart({"a<b": list(enumerate(values))}, "epoch", "loss")
        texts = [text.text for text in xml.etree.ElementTree.fromstring(picture).iter("text")]
        assert len(texts) >= 5 and "a<b" in texts and "nan" not in picture, (values, texts)
    assert epochd.charts.chart({"a": [(1, 1)]}, "x", "y") == ""
    assert epochd.charts.ticks(1e6, 1.2e6, False) == [1e6, 1.05e6, 1.1e6, 1.15e6, 1.2e6]
    assert epochd.charts.ticks(0.03, 40, True) == [0.01, 0.1, 1, 10, 100]
    assert epochd.charts.ticks(2, 45, True) == [2, 5, 10, 20, 50] and epochd.charts.ticks(0, 0, False) == [-1, 0, 1]
    for low, high in ((1e-9, 1e9), (1e-300, 1e300), (1e-305, 1e305), (5, 1000), (3e-7, 7e-6)):
        assert epochd.charts.ticks(low, high, True)[0] <= low and epochd.charts.ticks(low, high, True)[-1] >= high
        assert 3 <= len(epochd.charts.ticks(low, high, True)) <= 10


def parameters():
    """What scikit-learn asks of an estimator, without it."""
    client = Client()
    model = epochd.Regressor(client, epochs=5, optimizer__lr=0.01)
    assert model.get_params() == {"client": client, "verbose": False, "epochs": 5, "optimizer__lr": 0.01}
    assert model.set_params(epochs=7) is model and "epochs=7" in repr(model) and model._repr_html_() is None
    x, y = line_data()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(x, [[target] for target in y])
    assert len(said) == 1 and "column-vector y" in str(said[0].message), said
    assert model.job_.progress.epochs == 7 and model.job_.spec.optimizer.lr == 0.01 and model.n_features_in_ == 2
    assert model.job_.name == "Regressor" and "<polyline" in model._repr_html_() and not hasattr(model, "feature_names_in_")
    again = pickle.loads(pickle.dumps(model))
    assert list(again.predict(x)) == list(model.predict(x)) and b"a-token" not in pickle.dumps(model)
    assert copy.deepcopy(client) is client
    for wrong in ([1, 2], [[1], [2, 3]], [[1, 2, 3]] * 2, [[1j, 2]] * 2, [{"x0": 1}] * 2):
        raises(ValueError, lambda: model.predict(wrong))
    raises(TypeError, lambda: model.predict([[{"a": 1}, 2]]))
    for wrong in (None, [1, float("nan")], [[1, 2]] * 2, [float("inf"), 1]):
        raises(ValueError, lambda: epochd.Regressor().fit([[1], [2]], wrong))
    assert "Regressor" in str(raises(ValueError, lambda: epochd.Classifier().fit(x, y)))
    raises(ValueError, lambda: epochd.Classifier().fit([[1], [2]], ["a", "a"]))
    utils = types.ModuleType("sklearn.utils")  # as of scikit-learn 1.6
    for name in ("Tags", "TargetTags", "InputTags", "ClassifierTags", "RegressorTags"):
        setattr(utils, name, types.SimpleNamespace)
    sys.modules.update({"sklearn": types.ModuleType("sklearn"), "sklearn.utils": utils})
    sys.modules["sklearn"].utils = utils
    tags = model.__sklearn_tags__()
    assert tags.estimator_type == "regressor" and tags.input_tags.allow_nan and tags.target_tags.required and tags.regressor_tags
    del sys.modules["sklearn"], sys.modules["sklearn.utils"]
    print("ok: parameters")


def estimators():
    """Tables with words and gaps; labels of any kind; numbers."""
    rows = [{"sex": "male" if at % 3 else "female", "age": None if at % 11 == 0 else float(at * 7 % 60), "note": f"n{at}"}
            for at in range(300)]
    labels = [at % 3 == 0 for at in range(300)]
    model = epochd.Classifier(seed=2).fit(rows[:250], labels[:250])
    assert list(model.classes_) == [False, True] and list(model.feature_names_in_) == ["sex", "age", "note"]
    assert model.score(rows[250:], labels[250:]) == 1
    assert list(model.predict(rows[:3])) == labels[:3]
    for probabilities, label in zip(model.predict_proba(rows[:3]), labels):
        assert abs(sum(probabilities) - 1) < 1e-6 and (probabilities[1] > 0.5) == label
    assert model.job_.spec["seed"] == 2 and "fit-" not in json.dumps([one["name"] for one in Client().datasets()])
    x, y = line_data()
    line = epochd.Regressor(epochs=400).fit(x, y)
    assert line.score(x, y) > 0.95 and len(line.predict(x)) == 40, line.score(x, y)
    raises(ValueError, lambda: epochd.Regressor().predict(x))
    raises(ValueError, lambda: epochd.Regressor().fit(x, y[1:]))
    comma = epochd.Regressor().fit([{"x": f"{at},{at % 9}5", "price": f"${at}"} for at in range(200)], list(range(200)))
    assert abs(comma.predict([{"x": "150,5", "price": "$150"}])[0] - 150) < 20  # a number, and no word that was never seen
    assert comma.predict([{"x": "150,5", "price": "$150"}]) == comma.predict([{"x": 150.5, "price": 150}])
    refused = raises(ConnectionRefusedError, lambda: Client("http://127.0.0.1:1").submit({}))
    assert "cannot connect to http://127.0.0.1:1" in str(refused), refused
    print("ok: estimators")


if part == "lists":
    basics_client, trained = basics(lambda value: value)
    uploads(basics_client, *line_data())
    errors(basics_client, trained)
    inside(basics_client)
    together(basics_client, trained)
    estimators()
    parameters()
    tables()
    charts()
    series()
    predicts_pictures(basics_client)
    print("ok: lists")
elif part == "numpy":
    import numpy
    basics_client, trained = basics(lambda value: value.tolist())
    rows, targets = (numpy.array(value, dtype=numpy.float32) for value in line_data())
    assert isinstance(trained.predict(rows), numpy.ndarray) and trained.weights()["0.weight"].dtype == numpy.float32
    uploads(basics_client, rows.astype(">f8")[:, ::1], targets)
    print("ok: NumPy")
else:
    {"checkpoints": checkpoints, "cut": cut, "progress": progress, "notebook": notebook, "draw": draw}[part]()
