"""PyTorch: a plain loop ("eager"), the same steps recorded once as a CUDA graph and replayed ("graph":
a whole epoch a replay, gathering of the batch and optimizer included), and both with torch.compile."""

import importlib
import sys
import time

try:
    import torch
except Exception as error:  # not installed, or not for this machine
    from peers import protocol
    protocol.absent(error)

from peers import data, protocol
from peers.torch_networks import LOSSES, module, optimizer_of

DEVICE = sys.argv[1]
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 0
FULL_BATCH_UNROLL = 100  # epochs of one step in a graph
GRAPH_STEPS_MAX = 512


class Rows:
    """A work's rows on the device, which its variants share."""

    def __init__(self, work, table):
        self.x, self.y, self.x_test = (torch.tensor(part).to(DEVICE) for part in (table.x, table.y, table.x_test))
        if work["layers"][0]["type"] == "embedding":
            self.x, self.x_test = self.x.long(), self.x_test.long()
        if work.get("channels_last"):
            self.x = self.x.to(memory_format=torch.channels_last)


class Training:
    """One network, its rows and its optimizer on the device. compiled: through torch.compile; recorded: as a
    graph."""

    def __init__(self, work, table, rows, compiled=False, recorded=False):
        self.work, self.cuda = work, DEVICE == "cuda"
        self.net = module(work).to(DEVICE)
        self.x, self.y, self.x_test = rows.x, rows.y, rows.x_test
        if work.get("channels_last"):
            self.net = self.net.to(memory_format=torch.channels_last)
        self.first = {name: value.clone() for name, value in self.net.state_dict().items()}
        dynamic = False if work.get("fixed_shapes") else None
        self.forward = torch.compile(self.net, dynamic=dynamic) if compiled else self.net
        self.batch = data.batch_rows(work, table)
        self.steps = (len(self.x) + self.batch - 1) // self.batch
        self.loss = LOSSES[work["loss"]]
        self.optimizer = optimizer_of(work, self.net.parameters(), self.cuda, recorded)
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
                for value in state.values():
                    if torch.is_tensor(value):
                        value.zero_()
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
        """One replay is `unit` epochs of one step, one epoch, or, of epochs of many steps, a part of one."""
        if self.graph is None:
            self.capture()
        return self.timed(epochs // self.unit(), self.graph)

    def unit(self):
        return min(FULL_BATCH_UNROLL, self.work["epochs"]) if self.steps == 1 else 1

    def capture(self):
        self.precision()
        self.reset()
        if self.steps > GRAPH_STEPS_MAX:
            self.graph = self.in_parts()
        else:
            self.graph = self.record(self.epoch, self.unit()).replay
        torch.cuda.empty_cache()  # other processes have networks there too

    def record(self, steps, times, warm=3):
        """A graph of `times` calls of steps()."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(warm):
                steps()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for _ in range(times):
                steps()
        return graph

    def in_parts(self):
        """An epoch of more steps than a graph holds: a graph of many whole batches, replayed with their rows'
        numbers in a place of its own, and one of what is left."""
        part = GRAPH_STEPS_MAX * self.batch
        graphs = []
        for rows in (part, len(self.x) % part):
            place = torch.arange(rows, device=DEVICE)

            def steps(place=place):
                for first in range(0, len(place), self.batch):
                    chosen = place[first:first + self.batch]
                    self.step(self.x[chosen], self.y[chosen])
            if rows:
                graphs.append((place, self.record(steps, 1, warm=1)))

        def epoch():
            for first in range(0, len(self.x), part):
                rows = self.order[first:first + part]
                place, graph = graphs[0] if len(rows) == part else graphs[1]
                place.copy_(rows)
                graph.replay()
        return epoch

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
        rows = data.evaluated_rows(self.work)
        with torch.no_grad():
            out = [torch.cat([self.net(part).float() for part in x.split(rows)]).cpu().numpy()
                   for x in (self.x, self.x_test)]
        return tuple(out)


def lift_compile_limits():
    """One process compiles many networks, and none must fall back to eager because it comes late."""
    config = importlib.import_module("torch._dynamo").config
    for limit in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit",
                  "accumulated_cache_size_limit"):
        if hasattr(config, limit):
            setattr(config, limit, 1 << 16)


def prepare(work, table):
    if work["precision"] == "bf16" and DEVICE == "cpu":
        raise protocol.Refused("bf16 is measured on GPUs")
    asked, rows, variants = work["variants"], Rows(work, table), {}
    if "eager" in asked:
        variants["eager"] = protocol.Variant(Training(work, table, rows).eager)
    if "graph" in asked and DEVICE == "cuda":
        recorded = Training(work, table, rows, recorded=True)
        variants["graph"] = protocol.Variant(recorded.replayed, recorded.unit())
    if ("compile" in asked or "compile+graph" in asked) and hasattr(torch, "compile"):
        lift_compile_limits()
        if "compile" in asked:
            variants["compile"] = protocol.Variant(Training(work, table, rows, compiled=True).eager)
        if DEVICE == "cuda":
            both = Training(work, table, rows, compiled=True, recorded=True)
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
