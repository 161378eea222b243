#!/usr/bin/env python3
"""inference.py [NETWORK…]: the measurements of tests/bench/inference, which says what is measured."""

import argparse
import json
import os
import statistics
import subprocess
import sys

import numpy as np

import inference_tables
import networks
import report
from contenders import NotRun, PeerProcess
from daemon import Daemon, Failed, cpu_seconds

JSON = {"Content-Type": "application/json"}
CLIENTS, BATCH = 64, 1024
NEAR = 1e-4  # how far an answer may be from a peer's: of itself, and of 1
PEERS = ("onnxruntime", "torch", "torchscript", "torch-cuda")
SERVERS = ("onnxruntime", "torchscript")  # those of the peers that are put behind HTTP, too


def dense(*widths):
    layers = []
    for width in widths:
        layers += [{"type": "linear", "out_features": width}, {"type": "relu"}]
    return layers[:-1]


def lenet():
    return [{"type": "conv2d", "out_channels": 6, "kernel_size": 5, "padding": 2}, {"type": "relu"},
            {"type": "max_pool2d", "kernel_size": 2},
            {"type": "conv2d", "out_channels": 16, "kernel_size": 5}, {"type": "relu"},
            {"type": "max_pool2d", "kernel_size": 2}, {"type": "flatten"}] + dense(120, 84, 10)


# name: (shape of a row, layers)
NETWORKS = {
    "13-32-16-3": ([13], dense(32, 16, 3)),
    "784-128-64-10": ([784], dense(128, 64, 10)),
    "784-512-512-10": ([784], dense(512, 512, 10)),
    "LeNet-5": ([1, 28, 28], lenet()),
    "embedding": ([8], [{"type": "embedding", "num_embeddings": 1000, "embedding_dim": 16}] + dense(64, 10)),
}
WORDS = 1000  # of the embedding


def rows_of(name, count, seed):
    """[count, features]: numbers of at most five digits, as JSON takes them in a body's eight megabytes."""
    shape, layers = NETWORKS[name]
    random = np.random.default_rng(seed)
    size = [count, int(np.prod(shape))]
    if layers[0]["type"] == "embedding":
        return random.integers(0, WORDS, size).astype(np.float32)
    return np.round(random.uniform(-1, 1, size), 4).astype(np.float32)


def plain_rows(rows):
    """As Python's numbers, with the digits that they were rounded to."""
    return [[round(value, 4) if value % 1 else int(value) for value in row] for row in rows.astype(float).tolist()]


# --- the daemon ---------------------------------------------------------------------------------------

class Ours:
    """A trained network on a daemon, and the ways to request its predictions."""

    WAYS = ("predict", "v2", "v2 bytes")

    def __init__(self, daemon, name):
        self.daemon, self.shape = daemon, NETWORKS[name][0]
        shape, layers = NETWORKS[name]
        outputs = layers[-1]["out_features"]
        path = os.path.join(daemon.folder, "rows.npz")
        x = rows_of(name, 256, 1)
        np.savez(path, x_train=x.reshape([-1] + shape), y_train=np.arange(256) % outputs)
        with open(path, "rb") as file:
            daemon.upload("rows", file.read())
        end, _ = daemon.stream({"data": {"dataset": "rows"}, "model": {"layers": layers}, "loss": "cross_entropy",
                                "epochs": 3, "batch_size": 32, "optimizer": {"type": "adam", "lr": 0.001},
                                "device": "cpu"})
        self.job = end["job"]
        daemon.request("PUT", "/v1/models/measured", json.dumps({"job": self.job}), JSON)
        self.files = {}
        for form in ("safetensors", "onnx"):
            daemon.connection.request("GET", f"/v1/jobs/{self.job}/weights?format={form}")
            self.files[form] = os.path.join(daemon.folder, f"weights.{form}")
            with open(self.files[form], "wb") as file:
                file.write(daemon.connection.getresponse().read())

    def message(self, way, rows):
        """(path, headers, body)"""
        if way == "predict":
            return f"/v1/jobs/{self.job}/predict", JSON, json.dumps({"x": plain_rows(rows)}).encode()
        tensor = {"name": "x", "datatype": "FP32", "shape": [len(rows)] + self.shape}
        wanted = {"name": "predictions"}
        if way == "v2":
            tensor["data"] = sum(plain_rows(rows), [])
            return "/v2/models/measured/infer", JSON, json.dumps({"inputs": [tensor], "outputs": [wanted]}).encode()
        raw = rows.astype("<f4").tobytes()
        tensor["parameters"] = {"binary_data_size": len(raw)}
        wanted["parameters"] = {"binary_data": True}
        head = json.dumps({"inputs": [tensor], "outputs": [wanted]}).encode()
        return "/v2/models/measured/infer", {"Content-Type": "application/octet-stream",
                                             "Inference-Header-Content-Length": str(len(head))}, head + raw

    def predict(self, way, rows):
        """The answer: [rows, outputs]."""
        path, headers, body = self.message(way, rows)
        self.daemon.connection.request("POST", path, body, headers)
        answer = self.daemon.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise Failed(f"{way}: {answer.status} {text[:300]}")
        if way == "predict":
            return np.array(json.loads(text)["predictions"])
        if way == "v2":
            return np.array(json.loads(text)["outputs"][0]["data"]).reshape(len(rows), -1)
        return np.frombuffer(text[int(answer.headers["Inference-Header-Content-Length"]):], "<f4").reshape(len(rows), -1)

    def message_file(self, way, rows):
        """A whole request, as bench_load sends it."""
        path, headers, body = self.message(way, rows)
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
        text = "\r\n".join(lines + [f"{name}: {value}" for name, value in headers.items()]) + "\r\n\r\n"
        return written(self.daemon.folder, text.encode() + body)


def written(folder, request):
    path = os.path.join(folder, "request")
    with open(path, "wb") as file:
        file.write(request)
    return path


def post(port, path, seconds, clients):
    program = os.path.join(os.environ["EPOCHD_BENCH_PROGRAMS"], "bench_load")
    done = subprocess.run([program, "post", str(port), path, str(seconds), str(clients)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"bench_load: {done.stderr[:1000]}")
    return json.loads(done.stdout)


# --- who is measured ----------------------------------------------------------------------------------

class Contender:
    """One way on the daemon, or a library. figures: {what: [a round's figures]}."""

    def __init__(self, name):
        self.name, self.figures, self.wrong = name, {}, None

    def note(self, what, said):
        self.figures.setdefault(what, []).append(said)

    def medians(self):
        """{what: {figure: the median}}"""
        return {what: {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
                for what, rounds in self.figures.items()}


class Way(Contender):
    def __init__(self, ours, name):
        super().__init__(name)
        self.ours = ours

    def predict(self, rows):
        return self.ours.predict(self.name, rows)

    def round(self, rows, seconds):
        daemon = self.ours.daemon
        processes = [process for _, process in daemon.processes_named()]
        for what, count, clients in (("row", 1, 1), ("batch", BATCH, 1), ("clients", 1, CLIENTS)):
            path = self.ours.message_file(self.name, rows[:count])
            before = sum(map(cpu_seconds, processes))
            said = post(daemon.connection.port, path, seconds, clients)
            said["cpu_us"] = (sum(map(cpu_seconds, processes)) - before) / said["requests"] * 1e6
            self.note(what, said)
        daemon.connection.close()  # it idled meanwhile


class Library(Contender):
    def __init__(self, process, name, folder, serves):
        super().__init__(name)
        self.process, self.folder, self.port = process, folder, None
        self.serves = serves

    def saved(self, rows):
        path = os.path.join(self.folder, "rows.npy")
        np.save(path, rows)
        return path

    def predict(self, rows):
        output = os.path.join(self.folder, "output.npy")
        self.process.ask({"do": "predict", "rows": self.saved(rows), "output": output})
        return np.load(output)

    def round(self, rows, seconds):
        for what, count in (("row", 1), ("batch", BATCH)):
            self.note(what, self.process.ask({"do": "time", "rows": self.saved(rows[:count]), "seconds": seconds}))
        if not self.serves:
            return
        self.port = self.port or self.process.ask({"do": "serve"})["port"]
        body = json.dumps({"x": plain_rows(rows[:1])}).encode()
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        path = written(self.folder, head.encode() + body)
        for what, clients in (("served row", 1), ("served clients", CLIENTS)):
            self.note(what, post(self.port, path, seconds, clients))


def differs(found, expected):
    """What is wrong with an answer, or None."""
    expected = np.asarray(expected, float).reshape(len(expected), -1)
    if found.shape != expected.shape:
        return f"the answer has the shape {found.shape}, not {expected.shape}"
    if not np.isfinite(found).all():
        return "the answer has values that are no numbers"
    apart = np.abs(found - expected) / (1 + np.abs(expected))
    return None if apart.max() <= NEAR else f"an answer is {apart.max():.2g} from the peer's"


class Bench:
    """One daemon, and a process a library."""

    def __init__(self, options):
        self.options, self.processes, self.versions, self.absent = options, {}, {}, []
        cores = sorted(os.sched_getaffinity(0))[:options.cores] if options.cores else None
        self.daemon = Daemon(options.prefix, pinned_to=",".join(map(str, cores)) if cores else None)
        self.daemon.wait_for("cpu")
        for name in PEERS:
            try:
                process = PeerProcess("inference", name, cores)
                self.versions[name] = process.hello()
                self.processes[name] = process
            except NotRun as reason:
                self.absent.append({"name": name, "reason": str(reason)})

    def measure(self, name):
        shape, layers = NETWORKS[name]
        self.daemon.connection.close()
        ours, rows = Ours(self.daemon, name), rows_of(name, BATCH, 2)
        ways, libraries, missing = [Way(ours, way) for way in Ours.WAYS], [], list(self.absent)
        for peer, process in self.processes.items():
            try:
                process.ask({"do": "load", "layers": layers, "shape": shape, **ours.files})
                libraries.append(Library(process, peer, self.daemon.folder, peer in SERVERS))
            except NotRun as reason:
                missing.append({"name": peer, "reason": str(reason)})
        if not libraries:
            raise NotRun("there is no library to compare with: " + "; ".join(each["reason"] for each in missing))
        wrong = self.compare(ways, libraries, rows)
        for turn in range(0 if wrong else self.options.rounds):
            turns = ways + libraries
            for contender in turns[turn % len(turns):] + turns[:turn % len(turns)]:
                contender.round(rows, self.options.seconds)
        return {"name": name, "parameters": sum(map(networks.parameters, networks.walk(layers, shape))),
                "wrong": wrong, "not_there": missing,
                "ways": [{"name": way.name, **way.medians()} for way in ways],
                "libraries": [{"name": library.name, **library.medians()} for library in libraries]}

    def compare(self, ways, libraries, rows):
        """What is wrong, or None: every way is held to every library, whose weights are the same file's."""
        for library in libraries:
            for count in (1, BATCH):
                expected = library.predict(rows[:count])
                for way in ways:
                    found = differs(way.predict(rows[:count]), expected)
                    if found:
                        return f"{way.name}, {count} rows, beside {library.name}: {found}"
        return None

    def close(self):
        for process in self.processes.values():
            process.end()
        self.daemon.stop()


def main():
    parser = argparse.ArgumentParser(description="what a prediction takes; see tests/bench/inference")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--stripped")
    parser.add_argument("--json", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--cores", type=int)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    options = parser.parse_intermixed_args()
    unknown = set(options.names) - set(NETWORKS)
    if unknown:
        raise SystemExit(f"there is no network {sorted(unknown)}; there are {list(NETWORKS)}")
    if options.show:
        with open(options.json, encoding="utf-8") as file:
            return inference_tables.show(json.load(file))
    out = dict(report.machine(), load_average=os.getloadavg()[0], pinned_cores=options.cores, rounds=options.rounds, seconds=options.seconds, networks=[])
    bench = Bench(options)
    out["versions"] = bench.versions
    for name in options.names or NETWORKS:
        print(f"  {name} …", flush=True)
        try:
            entry = bench.measure(name)
        except (NotRun, Failed) as reason:
            entry = {"name": name, "wrong": None, "not_run": str(reason)}
        out["networks"].append(entry)
        report.write(out, options.json)
    bench.close()
    return inference_tables.show(out)


if __name__ == "__main__":
    sys.exit(main())
