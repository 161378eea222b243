"""A library that predicts, for tests/bench/inference: called in this process, and behind a small HTTP server. Asked one
JSON object a line:

  {"do": "load", "layers", "shape", "safetensors": FILE, "onnx": FILE}  -> {}
  {"do": "predict", "rows": NPY, "output": NPY}                         -> {}: written there
  {"do": "time", "rows": NPY, "seconds": S}        -> {"calls_per_second", "p50_ms", "p99_ms"}, calls one by one
  {"do": "serve"}                                  -> {"port"}: POST {"x": [[…], …]} gives {"predictions": [[…], …]}
"""

import asyncio
import json
import os
import struct
import sys
import threading
import time

from peers import protocol

LIBRARY = sys.argv[1]
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 0


def load_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        body = file.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(body, "<f4", offset=part["data_offsets"][0],
                                count=(part["data_offsets"][1] - part["data_offsets"][0]) // 4).reshape(part["shape"])
            for name, part in header.items()}


class Torch:
    """A module, called without gradients. script: traced and frozen."""

    def __init__(self, device="cpu", script=False):
        try:
            import torch
        except Exception as error:  # not installed, or not for this machine
            protocol.absent(error)
        from peers.torch_networks import modules
        self.torch, self.modules = torch, modules
        self.device, self.script = device, script
        if device == "cuda" and not self.torch.cuda.is_available():
            protocol.absent("torch sees no GPU")
        if THREADS:
            self.torch.set_num_threads(THREADS)
        self.version = f"PyTorch {self.torch.__version__}"

    def load(self, ask):
        net = self.torch.nn.Sequential(*self.modules(ask["layers"], ask["shape"]))
        tensors = {name: self.torch.tensor(value) for name, value in load_safetensors(ask["safetensors"]).items()}
        net.load_state_dict(tensors)
        self.net, self.shape = net.eval().to(self.device), ask["shape"]
        self.whole = ask["layers"][0]["type"] == "embedding"
        if self.script:
            with self.torch.no_grad():
                traced = self.torch.jit.trace(self.net, self.input(np.zeros([2] + self.shape, np.float32)))
                self.net = self.torch.jit.freeze(traced)

    def input(self, x):
        tensor = self.torch.from_numpy(x.reshape([-1] + self.shape)).to(self.device)
        return tensor.long() if self.whole else tensor

    def predict(self, x):
        with self.torch.no_grad():
            return self.net(self.input(x)).cpu().numpy()


class OnnxRuntime:
    """A session on the file that the daemon exports."""

    TYPES = {"tensor(float)": "float32", "tensor(int64)": "int64", "tensor(double)": "float64"}

    def __init__(self):
        try:
            import onnxruntime
        except Exception as error:  # not installed, or not for this machine
            protocol.absent(error)
        self.runtime, self.version = onnxruntime, f"ONNX Runtime {onnxruntime.__version__}"

    def load(self, ask):
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = THREADS
        self.session = self.runtime.InferenceSession(ask["onnx"], options, providers=["CPUExecutionProvider"])
        given = self.session.get_inputs()[0]
        self.name, self.type, self.shape = given.name, self.TYPES[given.type], ask["shape"]

    def predict(self, x):
        return self.session.run(None, {self.name: x.reshape([-1] + self.shape).astype(self.type, copy=False)})[0]


def timed(peer, x, seconds):
    for _ in range(3):
        peer.predict(x)
    took, before = [], time.perf_counter()
    end = before + seconds
    while before < end:
        peer.predict(x)
        now = time.perf_counter()
        took.append(now - before)
        before = now
    took.sort()
    return {"calls_per_second": len(took) / sum(took), "p50_ms": took[len(took) // 2] * 1e3,
            "p99_ms": took[len(took) * 99 // 100] * 1e3}


class Server(asyncio.Protocol):
    """Requests of one connection, one after another: no more of HTTP than bench_load sends."""

    peer = None

    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        self.data += data
        while True:
            head = self.data.find(b"\r\n\r\n")
            if head < 0:
                return
            length = next(int(line[15:]) for line in self.data[:head].split(b"\r\n")
                          if line.lower().startswith(b"content-length:"))
            if len(self.data) < head + 4 + length:
                return
            body, self.data = self.data[head + 4:head + 4 + length], self.data[head + 4 + length:]
            output = self.peer.predict(np.array(json.loads(body)["x"], np.float32))
            text = json.dumps({"predictions": output.tolist()}).encode()
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" %
                                 (len(text), text))


def serve(peer):
    """Begins to serve in a thread of its own; the port."""
    loop, ready, port = asyncio.new_event_loop(), threading.Event(), []

    async def run():
        server = await loop.create_server(Server, "127.0.0.1", 0)
        port.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    Server.peer = peer
    threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True).start()
    ready.wait()
    return port[0]


def answer(peer, ask):
    if ask["do"] == "load":
        peer.load(ask)
        return {}
    if ask["do"] == "serve":
        return {"port": serve(peer)}
    x = np.load(ask["rows"])
    if ask["do"] == "time":
        return timed(peer, x, ask["seconds"])
    np.save(ask["output"], peer.predict(x))
    return {}


def main():
    makers = {"torch": Torch, "torchscript": lambda: Torch(script=True), "torch-cuda": lambda: Torch("cuda"),
              "onnxruntime": OnnxRuntime}
    peer = makers[LIBRARY]()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print

    def say(said):
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    say({"version": peer.version})
    for line in sys.stdin:
        try:
            say(answer(peer, json.loads(line)))
        except Exception as error:  # the driver decides what a failure means
            say({"refused": f"{type(error).__name__}: {str(error).strip()[:300]}"})


try:
    import numpy as np
except ImportError as missing:
    protocol.absent(missing)
if __name__ == "__main__":
    main()
