"""PyTorch's DistributedDataParallel: `python -m peers.ddp ASKED`, where ASKED is the JSON {"device", "counts", "seconds",
"rounds", "nets": [WORK and "rows", "title"]}. A process a GPU; on the first 1, 2, … of them each network takes steps on
`rows` rows a GPU that lie there, compiled where this PyTorch can. Says a JSON object a line: the version, or why
there is none; then for each network, variant and count the microseconds of a step, the median of some rounds. All
replicas must end with the same parameters, and with a lower loss."""

import json
import math
import os
import statistics
import sys
import tempfile
import time

try:
    import torch
    from torch import distributed, multiprocessing
    from torch.nn.parallel import DistributedDataParallel
except Exception as error:  # not installed, or not for this machine
    from peers import protocol
    protocol.absent(error)

from peers.torch_networks import LOSSES, module, optimizer_of

WARM_STEPS, CHUNK_STEPS = 6, 20
BACKENDS = {"cuda": "nccl", "cpu": "gloo"}


def say(what):
    print(json.dumps(what), flush=True)


def variants_of(device, count):
    """{name: (compiled, sums in bf16)}"""
    compiles = hasattr(torch, "compile") and device == "cuda"
    plain = "compiled" if compiles else "eager"
    found = {plain: (compiles, False)}
    if device == "cuda" and count > 1:
        found[f"{plain}, sums in bf16"] = (compiles, True)
    return found


class Replica:
    """The network of this process, on its rows."""

    def __init__(self, work, device, group, compiled, coarse):
        self.work, self.device = work, device
        random = torch.Generator().manual_seed(1 + distributed.get_rank())
        self.x = torch.randn([work["rows"]] + work["shape"], generator=random).to(device)
        self.y = torch.randint(10, [work["rows"]], generator=random).to(device)
        net = module(work).to(device)
        if work["channels_last"] and device.type == "cuda":
            net, self.x = net.to(memory_format=torch.channels_last), self.x.to(memory_format=torch.channels_last)
        self.net, self.group = net, group
        self.optimizer = optimizer_of(work, net.parameters(), device.type == "cuda", False)
        if group:
            net = DistributedDataParallel(net, device_ids=[device.index] if device.type == "cuda" else None,
                                          process_group=group, gradient_as_bucket_view=True)
            if coarse:
                hooks = __import__("torch.distributed.algorithms.ddp_comm_hooks.default_hooks", fromlist=["default_hooks"])
                net.register_comm_hook(group, hooks.bf16_compress_hook)
        if compiled:
            torch._dynamo.reset()  # else what was compiled before counts against the limit, behind which all is eager
        self.forward = torch.compile(net) if compiled else net

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        if self.device.type == "cuda" and self.work["precision"] == "bf16":
            with torch.autocast("cuda", torch.bfloat16):
                loss = LOSSES[self.work["loss"]](self.forward(self.x), self.y)
        else:
            loss = LOSSES[self.work["loss"]](self.forward(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        return loss

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        if self.group:
            distributed.barrier(group=self.group)

    def steps_seconds(self, count):
        self.wait()
        begin = time.perf_counter()
        for _ in range(count):
            self.step()
        self.wait()
        return (time.perf_counter() - begin) / count

    def steps_for(self, seconds):
        """As many on all replicas."""
        count = torch.tensor([max(CHUNK_STEPS, math.ceil(seconds / self.steps_seconds(CHUNK_STEPS)))], device=self.device)
        if self.group:
            distributed.broadcast(count, 0, group=self.group)
        return int(count)

    def fault(self, first, last):
        if not float(last) < float(first):
            return f"the loss went from {float(first):.4g} to {float(last):.4g}"
        sums = torch.stack([parameter.detach().double().sum() for parameter in self.net.parameters()])
        most = sums.clone()
        if self.group:
            distributed.all_reduce(most, distributed.ReduceOp.MAX, group=self.group)
        return None if torch.equal(most, sums) else "the replicas have other parameters"


def measure(asked, work, device, group, variant):
    replica = Replica(work, device, group, *variant)
    first = replica.step().detach()
    for _ in range(WARM_STEPS):
        replica.step()
    count = replica.steps_for(asked["seconds"])
    seconds = statistics.median(replica.steps_seconds(count) for _ in range(asked["rounds"]))
    return seconds, replica.fault(first, replica.step().detach())


def work_measure(asked, work, rank, device, groups):
    for count, group in groups.items():
        for name, variant in variants_of(asked["device"], count).items():
            if rank >= count:
                continue
            said = {"net": work["name"], "title": work["title"], "variant": name, "count": count}
            try:
                seconds, wrong = measure(asked, work, device, group, variant)
                said["microseconds"] = seconds * 1e6
            except Exception as error:  # a library's failure is a result
                said["failed"], wrong = f"{type(error).__name__}: {str(error).strip()[:300]}", None
            if wrong:
                say({"wrong": f"{work['title']}, {name} on {count}, replica {rank}: {wrong}"})
            if rank == 0:
                say(said)
        distributed.barrier()


def replica_run(rank, asked, meeting):
    most = max(asked["counts"])
    device = torch.device(asked["device"], rank) if asked["device"] == "cuda" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    else:
        torch.set_num_threads(1)
    distributed.init_process_group(BACKENDS[asked["device"]], init_method=f"file://{meeting}", rank=rank, world_size=most)
    groups = {count: distributed.new_group(list(range(count))) if count > 1 else None for count in asked["counts"]}
    for work in asked["nets"]:
        work_measure(asked, work, rank, device, groups)
    distributed.destroy_process_group()


def main():
    asked = json.loads(sys.argv[1])
    if asked["device"] == "cuda" and torch.cuda.device_count() < max(asked["counts"]):
        from peers import protocol
        protocol.absent(f"this PyTorch sees {torch.cuda.device_count()} GPUs")
    say({"version": f"PyTorch {torch.__version__}"})
    with tempfile.TemporaryDirectory(prefix="epochd-ddp.") as folder:
        multiprocessing.spawn(replica_run, (asked, os.path.join(folder, "meeting")), nprocs=max(asked["counts"]))


if __name__ == "__main__":
    main()
