"""gpus_ranks.py: the parts of tests/bench/gpus that cut one training: replicas, stages, and PyTorch's replicas."""

import json
import os
import statistics
import subprocess
import sys

from contenders import HERE, NotRun
from daemon import Failed
from gpus_jobs import counts_of

LOSS_NEAR = 1e-3  # of the losses of one GPU
LOSS_EPOCHS = 8
DATA_WANTED = 0.925  # of the GPUs: 3.7 of four
MICRO_BATCHES = 8
DDP_SECONDS_MAX = 300
LEFT_LEAST_SECONDS = 15  # that a further cut begins with


class Cut:
    """One way to train a network, measured in rounds. alone: on one GPU."""

    def __init__(self, bench, net, data=1, model=1):
        self.bench, self.net, self.data, self.model = bench, net, data, model
        self.gpus, self.alone = data * model, data * model == 1
        self.parallel = None if self.alone else {"data": data, "model": model}
        if model > 1:
            self.parallel["micro_batches"] = MICRO_BATCHES
        self.rows = net.rows * data
        self.runs, self.last, self.epochs = [], None, 0

    def job(self, epochs, **more):
        device = "cuda:0" if self.alone else "cuda"
        return self.bench.job(self.net, self.rows, device, self.parallel, epochs=epochs, report_every=epochs, **more)

    def steps(self, epochs):
        return epochs * self.bench.data_rows(self.net) // self.rows

    def warm(self):
        """Compiled, and the epochs chosen: about as many as the wanted seconds hold."""
        self.epochs, wanted = 2, self.bench.size(1.5, 0.05)
        self.bench.run(self.job(self.epochs))
        for _ in range(3):
            seconds = max(self.bench.run(self.job(self.epochs))["timing"]["train_seconds"], 1e-6)
            if seconds > wanted / 2:
                break
            self.epochs = max(self.epochs, min(100 * self.epochs, round(self.epochs * wanted / seconds)))

    def run(self):
        self.last = self.bench.run(self.job(self.epochs))
        self.runs.append(self.last["timing"]["train_seconds"] / self.steps(self.epochs))

    def figures(self, one):
        """one: the seconds of a step on one GPU, with the rows of one replica."""
        seconds = statistics.median(self.runs)
        out = {"data": self.data, "model": self.model, "gpus": self.gpus, "executor": self.last["executor"],
               "microseconds": seconds * 1e6, "runs": [run * 1e6 for run in self.runs], "epochs": self.epochs,
               "times": self.data * one / seconds}
        if self.alone:
            return out
        ranks = self.last["ranks"]
        out["ranks"] = [{name: rank[name] for name in ("compute_microseconds", "communication_microseconds",
                                                       "idle_share", "bytes")} for rank in ranks]
        slowest = max(rank["compute_microseconds"] for rank in ranks)
        pieces = self.last["parallel"]["micro_batches"]
        out.update(micro_batches=pieces, bubble=self.last["parallel"]["bubble"],
                   idle_share=statistics.mean(rank["idle_share"] for rank in ranks),
                   ideal_microseconds=slowest * (pieces + self.model - 1) / pieces,
                   times_without_waits=self.data * one * 1e6 / max(slowest, 1e-9))
        return out


def measured(bench, net, cuts):
    """The figures of the cuts, which are warm, in turns; the first is one GPU."""
    for _ in range(bench.options.rounds):
        for cut in cuts:
            cut.run()
    one = statistics.median(cuts[0].runs)
    found = [cut.figures(one) for cut in cuts]
    for each in found:
        print(f"    {net.title}: data {each['data']} x model {each['model']}: {each['microseconds']:.1f} us/step, "
              f"{each['times']:.3f} times the rows a second ({each['executor']})", flush=True)
    return found


def worst_of(mine, others):
    if len(mine) != len(others) or not mine:
        raise Failed(f"{len(mine)} epochs beside {len(others)}")
    if not all(isinstance(loss, float) for loss in mine + others):
        raise Failed("a loss is not finite")
    return max(abs(a - b) for a, b in zip(mine, others))


def compared(bench, net, cut):
    """How far the losses of the ranks are from those of one GPU, and from the same ranks on one GPU. A batch_norm
    takes its statistics of a replica's rows, or of a micro-batch's: without it the first can be compared. Stages
    train in float32 whatever is allowed: so does the one GPU then."""
    plain = dict(model={"layers": net.without("batch_norm")}, precision="fp32" if cut.model > 1 else net.row.precision)
    with_norm = len(plain["model"]["layers"]) < len(net.row.layers)
    changed = with_norm or plain["precision"] != net.row.precision
    base = dict(epochs=bench.size(LOSS_EPOCHS, 2))
    ranks = bench.losses(bench.job(net, cut.rows, "cuda", cut.parallel, **base, **plain))
    one = bench.losses(bench.job(net, cut.rows, "cuda:0", **base, **plain))
    whole = ranks if not changed else bench.losses(bench.job(net, cut.rows, "cuda", cut.parallel, **base))
    shared = bench.losses(bench.job(net, cut.rows, "cuda:0", dict(cut.parallel, elastic=True), **base))
    other = bench.losses(bench.job(net, cut.rows, "cuda", cut.parallel, **dict(base, seed=2), **plain))
    out = {"net": net.name, "title": net.title, "data": cut.data, "model": cut.model, "epochs": base["epochs"],
           "first": one[0], "last": one[-1], "apart": worst_of(ranks, one), "same_bits": whole == shared,
           "without": "batch_norm" if with_norm else None, "precision": plain["precision"],
           "canary": worst_of(other, one)}
    print(f"    {net.title}: data {cut.data} x model {cut.model}: losses of {out['first']:.4g} to {out['last']:.4g} "
          f"are {out['apart']:.2g} from one GPU's in {plain['precision']}"
          f"{' (without batch_norm)' if with_norm else ''}; the same ranks on one GPU: "
          f"{'the same bits' if out['same_bits'] else 'OTHER LOSSES'}", flush=True)
    return out


def cut_part(bench, nets, cuts_of):
    """The nets with their cuts. What could not be run has the reason."""
    out = {"nets": [], "losses": [], "wrong": None, "wanted": []}
    for net in nets:
        ready, missing = [], []
        for cut in cuts_of(net):
            try:
                if bench.left() < LEFT_LEAST_SECONDS:
                    raise NotRun("the time was over")
                if not cut.alone:
                    out["losses"].append(compared(bench, net, cut))
                cut.warm()
                ready.append(cut)
            except (NotRun, Failed) as reason:
                print(f"    {net.title}: data {cut.data} x model {cut.model}: not run: {reason}", flush=True)
                missing.append({"data": cut.data, "model": cut.model, "gpus": cut.gpus, "not_run": str(reason)})
        one = bool(ready) and ready[0].alone
        out["nets"].append({"name": net.name, "title": net.title, "missing": missing,
                            "cuts": measured(bench, net, ready) if one else []})
    for each in out["losses"]:
        name = f"{each['title']}, data {each['data']} x model {each['model']}"
        if not each["same_bits"]:
            out["wrong"] = f"{name}: the same ranks on one GPU have other losses"
        if each["canary"] <= LOSS_NEAR:
            out["wrong"] = f"{name}: the losses of another seed pass for these"
        out["wanted"].append({"what": f"{name}: losses from one GPU's", "wanted": LOSS_NEAR, "reached": each["apart"],
                              "met": each["apart"] <= LOSS_NEAR})
    return out


def data_nets(bench):
    return [net for net in bench.nets if not net.stages_alone]


def data(bench):
    def cuts(net):
        return [Cut(bench, net)] + [Cut(bench, net, data=n) for n in counts_of(bench.count)]
    out = cut_part(bench, data_nets(bench), cuts)
    for net in out["nets"]:
        for cut in net["cuts"][1:]:
            wanted = DATA_WANTED * cut["data"]
            out["wanted"].append({"what": f"{net['title']}, {cut['data']} replicas: times one GPU", "wanted": wanted,
                                  "reached": cut["times"], "met": cut["times"] >= wanted})
    return out


def model(bench):
    def cuts(net):
        found = [Cut(bench, net)] + [Cut(bench, net, model=n) for n in counts_of(bench.count)]
        return found + ([Cut(bench, net, data=2, model=2)] if bench.count >= 4 else [])
    return cut_part(bench, bench.nets, cuts)


def ddp(bench):
    """PyTorch's, in processes of its own, after the daemon has left the GPUs."""
    bench.rest()
    asked = {"device": bench.options.ddp_device, "counts": [1] + counts_of(bench.count)[::-1],
             "seconds": bench.size(1.0, 0.05), "rounds": bench.options.rounds,
             "nets": [dict(net.row.work(None, None, []), rows=net.rows, title=net.title)
                     for net in data_nets(bench)]}
    limit = min(DDP_SECONDS_MAX, max(30, bench.left()))
    out = {"nets": [], "wrong": None, "wanted": []}
    process = subprocess.Popen([sys.executable, "-m", "peers.ddp", json.dumps(asked)], cwd=HERE, text=True,
                               stdout=subprocess.PIPE, start_new_session=True)
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # and those that it has started
        said, _ = process.communicate()
        out["late"] = f"ended after {limit:.0f} s"
    for line in filter(lambda line: line.startswith("{"), said.splitlines()):
        found = json.loads(line)
        if "absent" in found:
            raise NotRun(found["absent"])
        if "version" in found:
            out["version"] = found["version"]
        elif "wrong" in found:
            out["wrong"] = found["wrong"]
        else:
            out["nets"].append(found)
            print(f"    {found['title']}: {found['variant']} on {found['count']}: " +
                  (f"{found['microseconds']:.1f} us/step" if "microseconds" in found else f"not run: {found['failed']}"),
                  flush=True)
    if not out["nets"]:
        raise NotRun(out.get("late") or f"PyTorch's processes ended with {process.returncode}, see above")
    return out
