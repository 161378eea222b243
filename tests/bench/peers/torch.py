"""PyTorch: a plain loop ("eager"), the same steps recorded once as a CUDA graph and replayed ("graph":
a whole epoch a replay, gathering of the batch and optimizer included), and both with torch.compile."""

import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except Exception as error:  # not installed, or not for this machine
    from peers import protocol
    protocol.absent(error)

from peers import data, protocol

DEVICE = sys.argv[1]
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 0
FULL_BATCH_UNROLL = 100  # epochs of one step in a graph
GRAPH_STEPS_MAX = 512

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "flatten": nn.Flatten}


def module(work):
    """The work's layers as an nn.Sequential, with the work's first weights."""
    torch.manual_seed(1)
    layers, shape = [], list(work["shape"])
    for layer in work["layers"]:
        kind = layer["type"]
        if kind == "linear":
            layers.append(nn.Linear(shape[0], layer["out_features"]))
            shape = [layer["out_features"]]
        elif kind == "conv2d":
            size, padding = layer["kernel_size"], layer.get("padding", 0)
            layers.append(nn.Conv2d(shape[0], layer["out_channels"], size, padding=padding,
                                    bias=layer.get("bias", True)))
            shape = [layer["out_channels"]] + [side + 2 * padding - size + 1 for side in shape[1:]]
        elif kind == "max_pool2d":
            layers.append(nn.MaxPool2d(layer["kernel_size"]))
            shape = [shape[0]] + [side // layer["kernel_size"] for side in shape[1:]]
        elif kind == "batch_norm":
            layers.append(nn.BatchNorm2d(shape[0]) if len(shape) == 3 else nn.BatchNorm1d(shape[0]))
        elif kind in ("dropout", "dropout2d"):
            layers.append((nn.Dropout if kind == "dropout" else nn.Dropout2d)(layer["p"]))
        elif kind == "log_softmax":
            layers.append(nn.LogSoftmax(1))
        else:
            layers.append(ACTIVATIONS[kind]())
            if kind == "flatten":
                shape = [shape[0] * shape[1] * shape[2]]
    net = nn.Sequential(*layers)
    first = {name: torch.tensor(value) for name, value in data.first_weights(work).items()}
    if first:
        net.load_state_dict(first)
    return net


LOSSES = {"mse": functional.mse_loss, "bce_with_logits": functional.binary_cross_entropy_with_logits,
          "cross_entropy": functional.cross_entropy, "nll": functional.nll_loss}


class Training:
    """One network, its rows and its optimizer on the device. compiled: through torch.compile."""

    def __init__(self, work, table, compiled):
        self.work, self.cuda = work, DEVICE == "cuda"
        self.net = module(work).to(DEVICE)
        self.x, self.y = torch.tensor(table.x).to(DEVICE), torch.tensor(table.y).to(DEVICE)
        self.x_test = torch.tensor(table.x_test).to(DEVICE)
        if work.get("channels_last"):
            self.net = self.net.to(memory_format=torch.channels_last)
            self.x = self.x.to(memory_format=torch.channels_last)
        self.first = {name: value.clone() for name, value in self.net.state_dict().items()}
        self.forward = torch.compile(self.net) if compiled else self.net
        self.batch = data.batch_rows(work, table)
        self.steps = (len(self.x) + self.batch - 1) // self.batch
        self.loss = LOSSES[work["loss"]]
        options = {"fused": True} if self.cuda else {}
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=work["lr"],
                                         momentum=work["momentum"], **options)
        self.order = torch.arange(len(self.x), device=DEVICE)
        self.graph = None

    def precision(self):
        """fp32 means fp32; tf32 and bf16 are what the job asked for."""
        if self.cuda:
            tf32 = self.work["precision"] != "fp32"
            torch.backends.cuda.matmul.allow_tf32 = tf32
            torch.backends.cudnn.allow_tf32 = tf32

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        if self.work["precision"] == "bf16":
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = self.loss(self.forward(x), y)
        else:
            loss = self.loss(self.forward(x), y)
        loss.backward()
        self.optimizer.step()

    def epoch(self):
        if self.steps == 1:
            self.step(self.x, self.y)
            return
        for first in range(0, len(self.x), self.batch):
            if self.work["shuffle"]:
                rows = self.order[first:first + self.batch]
                self.step(self.x[rows], self.y[rows])
            else:
                self.step(self.x[first:first + self.batch], self.y[first:first + self.batch])

    def reset(self):
        with torch.no_grad():
            for name, value in self.net.state_dict().items():
                value.copy_(self.first[name])
            for state in self.optimizer.state.values():
                if state.get("momentum_buffer") is not None:
                    state["momentum_buffer"].zero_()
        self.net.train()

    def shuffle(self):
        if self.work["shuffle"] and self.steps > 1:
            torch.randperm(len(self.x), out=self.order, device=DEVICE)

    def synchronize(self):
        if self.cuda:
            torch.cuda.synchronize()

    def eager(self, epochs):
        return self.timed(epochs, self.epoch)

    def replayed(self, epochs):
        """One replay is `unit` epochs of one step, or one epoch."""
        if self.graph is None:
            self.capture()
        return self.timed(epochs // self.unit(), self.graph.replay)

    def unit(self):
        return min(FULL_BATCH_UNROLL, self.work["epochs"]) if self.steps == 1 else 1

    def capture(self):
        self.precision()
        self.reset()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.epoch()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for _ in range(self.unit()):
                self.epoch()
        self.graph = graph

    def timed(self, count, advance):
        self.precision()
        self.reset()
        self.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            self.shuffle()
            advance()
        self.synchronize()
        seconds = time.perf_counter() - begin
        return (seconds,) + self.outputs()

    def outputs(self):
        self.net.eval()
        with torch.no_grad():
            out = [torch.cat([self.net(part).float() for part in x.split(2000)]).cpu().numpy()
                   for x in (self.x, self.x_test)]
        return tuple(out)


def prepare(work, table):
    if work["precision"] == "bf16" and DEVICE == "cpu":
        raise protocol.Refused("bf16 is measured on GPUs")
    asked = work["variants"]
    variants = {}
    plain = Training(work, table, False)
    if "eager" in asked:
        variants["eager"] = protocol.Variant(plain.eager)
    if "graph" in asked and DEVICE == "cuda" and plain.steps <= GRAPH_STEPS_MAX:
        recorded = Training(work, table, False)
        variants["graph"] = protocol.Variant(recorded.replayed, recorded.unit())
    if "compile" in asked and hasattr(torch, "compile"):
        compiled = Training(work, table, True)
        variants["compile"] = protocol.Variant(compiled.eager)
        if DEVICE == "cuda" and compiled.steps <= GRAPH_STEPS_MAX:
            both = Training(work, table, True)
            variants["compile+graph"] = protocol.Variant(both.replayed, both.unit())
    return variants


def product_flops(kind, tf32, size=8192, count=10):
    """Operations a second of a square matrix product on random values, the median of three."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = (torch.randn(size, size, device=DEVICE).to(kind) for _ in range(2))
    rates = []
    for _ in range(4):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            a @ b
        torch.cuda.synchronize()
        rates.append(2 * size**3 * count / (time.perf_counter() - begin))
    return sorted(rates[1:])[1]


def ceilings():
    if DEVICE != "cuda":
        raise protocol.Refused("the CPU's are measured by NumPy")
    source = torch.randn(1 << 29, device=DEVICE)
    target = torch.empty_like(source)
    rates = []
    for _ in range(4):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(5):
            target.copy_(source)
        torch.cuda.synchronize()
        rates.append(5 * 2 * 4 * len(source) / (time.perf_counter() - begin))
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0)
    return {"bytes_per_second": sorted(rates[1:])[1], "cache_bytes": cache, "fp32": product_flops(torch.float32, False, 4096),
            "tf32": product_flops(torch.float32, True), "bf16": product_flops(torch.bfloat16, True)}


if DEVICE == "cuda" and not torch.cuda.is_available():
    protocol.absent("this PyTorch sees no GPU")
if THREADS:
    torch.set_num_threads(THREADS)
protocol.serve(f"PyTorch {torch.__version__}", prepare, ceilings)
