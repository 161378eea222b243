#!/usr/bin/env python3
"""python_client.py lists|numpy|checkpoints|cut|progress|notebook FOLDER: one part of the test of clients/python/epochd.
EPOCHD and EPOCHD_TOKEN say where the daemon is."""
import io
import json
import math
import os
import pty
import socket
import subprocess
import sys
import threading
import time
import types
import xml.etree.ElementTree

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
    again = client.upload("first", weights)
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
    stored = client.upload("line", {"x_train": x, "y_train": y, "x_test": x[:10], "y_test": y[:10]})
    assert stored["parts"]["train"]["x"]["shape"] == [2] and stored["parts"]["test"]["x"]["rows"] == 10, stored
    job = client.train(dict(line, data={"dataset": "line"}), progress=False)
    assert job.metrics["test"]["rmse"] < 1e-3, job.metrics
    path = os.path.join(folder, "line.csv")
    with open(path, "w") as file:
        file.write("a,b,y\n" + "".join(f"{row[0]},{row[1]},{target}\n" for row, target in zip(x, y)))
    assert client.upload("csv", path)["rows"] == 40
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
    written = client.upload("semicolons", b"1;2\n3;4\n", delimiter=";", header=False)
    assert written["rows"] == 2 and client.dataset("semicolons")["columns"] == written["columns"], written
    assert client.upload("semicolons", b"1;2\n3;4\n", delimiter=None, header=True)["rows"] == 1
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
    started = time.monotonic()
    lost = epochd.Job(Client("http://127.0.0.1:9"), job.document)
    raises(OSError, lambda: list(lost.events(patience=0.5)))
    assert time.monotonic() - started < 10


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
    raises(epochd.EpochdError, lambda: job.predict(table[:3], steps=2))
    raises(ValueError, lambda: job.predict(table[400:424], future=table[424:426]))
    print("ok: a forecast")


def estimators():
    """Tables with words and gaps; labels of any kind; numbers."""
    rows = [{"sex": "male" if at % 3 else "female", "age": None if at % 11 == 0 else float(at * 7 % 60), "note": f"n{at}"}
            for at in range(300)]
    labels = [at % 3 == 0 for at in range(300)]
    model = epochd.Classifier(seed=2).fit(rows[:250], labels[:250])
    assert model.classes_ == [False, True] and model.score(rows[250:], labels[250:]) == 1
    assert model.predict(rows[:3]) == labels[:3]
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
    assert "nothing answers at http://127.0.0.1:1" in str(refused), refused
    print("ok: estimators")


if part == "lists":
    basics_client, trained = basics(lambda value: value)
    uploads(basics_client, *line_data())
    errors(basics_client, trained)
    inside(basics_client)
    together(basics_client, trained)
    estimators()
    series()
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
