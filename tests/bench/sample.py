#!/usr/bin/env python3
"""sample.py [cpu|cuda]: the measurements of tests/bench/sample: networks drawn by chance (draws.py), on the daemon and
on the peers. All peers of a shard are prepared first, several at once; nothing compiles while anything is timed."""

import argparse
import json
import os
import re
import statistics
import sys
import threading
import time

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")
import numpy as np  # noqa: E402 (after the number of its threads)

import draws  # noqa: E402
import report  # noqa: E402
import sample_tables  # noqa: E402
import workloads  # noqa: E402
from bench import Bench  # noqa: E402
from contenders import NotRun, Ours, PeerProcess  # noqa: E402
from daemon import Failed  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARD = 25
TRAINING_SECONDS = 0.3  # of the best peer: what the number of epochs is chosen by
OURS_SECONDS_MAX, PEER_SECONDS_MAX = 4, 1  # of one run; longer trainings run fewer epochs
RATE_SECONDS = 0.1  # of a run that finds out how long an epoch takes
ROUNDS = (3, 7)  # at least, and at most while a third of the network's time is left
BEHIND = 2.5  # who is so many times behind the best peer runs in one round alone
CPU_EPOCH_OPERATIONS_MAX = 1e11  # on a CPU an epoch has fewer rows, at least one batch
CHECK_STEPS, CHECK_OPERATIONS_MAX, CHECK_RATE = 4, 4e11, 10
# How far the loss after the check's steps may be from the peer's: a share of how far it went, and of itself.
CHECK_SHARES = {"fp32": (0.005, 0.00001), "tf32": (0.05, 0.003), "bf16": (0.2, 0.02)}
# The first trainings load what was compiled ahead.
WARM_SECONDS, WARM_JOBS = 1.2, 2
APART = 0.3  # of the first loss: losses of shuffled trainings that differ by more are reported


def arrays_of(drawn, rows):
    """Rows by chance, and targets that depend on their first columns."""
    random = np.random.default_rng(1)
    total = rows + 64
    if drawn.kind == "embedding":
        x = random.integers(0, drawn.layers[0]["num_embeddings"], [total] + drawn.shape)
        seen = x / drawn.layers[0]["num_embeddings"] - 0.5
    elif drawn.bytes:
        x = random.integers(0, 256, [total] + drawn.shape, dtype=np.uint8)
        seen = x.reshape(total, -1)[:, :64] / 255 - 0.5
    else:
        x = random.standard_normal([total] + drawn.shape, dtype=np.float32)
        seen = x.reshape(total, -1)[:, :64]
    z = seen @ random.normal(size=(seen.shape[1], drawn.outputs))
    y = {"mse": lambda: np.tanh(z).astype(np.float32), "bce_with_logits": lambda: (z > 0).astype(np.float32),
         "cross_entropy": lambda: z.argmax(1)}[drawn.loss]()
    if drawn.loss == "cross_entropy":
        y[:min(rows, drawn.outputs)] = np.arange(drawn.outputs)[:min(rows, drawn.outputs)]  # each class is there
    return {"x_train": x[:rows], "y_train": y[:rows], "x_test": x[rows:], "y_test": y[rows:]}


def row_of(seed, index, options, kind):
    """The draw as a row, as long as the machine can take."""
    drawn = draws.draw(seed, index)
    rows, batch = drawn.rows, drawn.batch_rows()
    if kind == "cpu" and batch < rows:
        rows = min(rows, max(1, int(CPU_EPOCH_OPERATIONS_MAX // max(1, drawn.step_operations()))) * batch)
    batch = "full" if drawn.batch_size == "full" else batch
    row = make_row(f"draw-{index}", drawn, rows, batch, drawn.layers, drawn.shuffle)
    row.index, row.drawn = index, drawn
    row.runs, row.device = (kind,), options.device if kind == "cuda" else "cpu"
    row.one_core = kind == "cpu"
    row.precision = drawn.precision if kind == "cuda" else "fp32"
    row.title = drawn.title(rows, row.precision)
    row.channels_last = kind == "cuda" and drawn.kind == "images" and row.precision != "fp32"
    # A guess, for what is compiled for a number of epochs: a tenth of a second at a slow rate.
    rate = 2e13 if kind == "cuda" else 3e10
    seconds = row.steps() * (3e-5 + row.operations()[0] / rate)
    row.epochs = max(1, min(1000, int(0.1 / seconds)))
    return row


def make_row(name, drawn, rows, batch, layers, shuffle):
    def make():
        return arrays_of(drawn, rows)
    make.__name__ = name + "-rows"
    given = drawn.optimizer
    row = workloads.Row(name, drawn.title(), make, drawn.shape, layers, drawn.loss, batch_size=batch, shuffle=shuffle,
                        draws_first=1, lr=given["lr"], momentum=given.get("momentum", 0), fixed_shapes=True,
                        optimizer=None if given["type"] == "sgd" else given, rows_count=rows,
                        normalize={"mean": 0.5, "std": 0.25} if drawn.bytes else None)
    return row


def without_dropout(layers):
    """The same network, with every mask open."""
    kept = []
    for layer in layers:
        layer = dict(layer)
        if layer["type"].startswith("dropout"):
            layer["p"] = 0.0
        if "layers" in layer:
            layer["layers"] = without_dropout(layer["layers"])
        kept.append(layer)
    return kept


def check_row(row):
    """A few steps of the row, in order and without dropout: the same numbers on everyone, but for rounding."""
    drawn, batch = row.drawn, row.batch_rows()
    step = row.operations()[0]
    steps = max(1, min(CHECK_STEPS, int(CHECK_OPERATIONS_MAX // max(1, step))))
    rows = min(row.rows_count, (steps - 1) * batch + (row.rows_count % batch or batch)) if steps > 1 else batch
    check = make_row(f"check-{row.index}", drawn, rows, row.batch_size, without_dropout(row.layers), False)
    if check.optimizer is None:  # drawn rates of sgd are small: a few such steps could hide in rounding
        check.lr *= CHECK_RATE
    check.device, check.precision, check.channels_last = row.device, row.precision, row.channels_last
    check.one_core, check.epochs = row.one_core, max(1, steps // check.steps())
    return check


class Lane:
    """A peer's process that prepares some networks, one after the other. If it ends, the next network gets another
    process."""

    def __init__(self, sample, module, device, variants, rows):
        self.sample, self.module, self.device, self.variants, self.rows = sample, module, device, variants, rows
        self.process, self.absent, self.version = None, None, None
        self.seconds = 0  # of its preparations
        self.ready, self.failed = {}, {}  # row's name -> (process, variants); -> [(variant, reason)]
        self.all = []

    def start(self):
        if self.process is None or self.process.dead:
            self.process = PeerProcess(self.module, self.device, self.sample.cores if self.device == "cpu" else None)
            self.all.append(self.process)
            self.version = self.process.hello()

    def prepare(self):
        began = time.monotonic()
        for row in self.rows:
            reasons = self.failed.setdefault(row.name, [])
            for variant in self.variants:
                left = self.sample.deadline - time.monotonic()
                if self.absent or left < 5:
                    reasons.append((variant, self.absent or "the time to prepare was over"))
                    break
                if self.prepare_one(row, variant, min(left, self.sample.options.compile_seconds), reasons):
                    break  # those behind it stand for it where it fails
            self.seconds = time.monotonic() - began

    def prepare_one(self, row, variant, seconds, reasons):
        try:
            self.start()
        except NotRun as reason:
            self.absent = str(reason)
            reasons.append((variant, self.absent))
            return False
        try:
            path, first = self.sample.data_of(row)
            said = self.process.ask({"do": "prepare", "work": row.work(path, first, [variant]),
                                     "seconds_max": seconds}, seconds + 30)
        except (NotRun, OSError) as reason:
            reasons.append((variant, str(reason)))
            return False
        reasons += list(said["failed"].items())
        if any("CUDA error" in text for text in said["failed"].values()):
            self.process = None  # nothing more runs in it; what it had ready fails with its reason
        if said["variants"]:
            self.ready[row.name] = (self.process, list(said["variants"]))
        return bool(said["variants"])

    def close(self):
        for process in self.all:
            process.end()


class DrawnPeer:
    """One variant of a peer on a network, timed alone."""

    def __init__(self, process, name, row, variant):
        self.process, self.name, self.row, self.variant = process, name, row, variant
        self.seconds, self.answer = [], None  # of an epoch

    def run(self, **ask):
        said = self.process.ask(dict({"do": "run", "name": self.row.name, "variant": self.variant}, **ask), 60)
        self.answer = dict(said["answer"], epochs=said["epochs"])
        return said["seconds"] / said["epochs"]

    def find_rate(self):
        """Its first run alone; while it was prepared it had company."""
        self.rate = self.run(seconds_max=RATE_SECONDS)

    def run_round(self, epochs):
        self.seconds.append(self.run(epochs=min(epochs, max(1, int(PEER_SECONDS_MAX / max(self.rate, 1e-9))))))


class OurRuns:
    """The daemon's job on a network."""

    def __init__(self, daemon, row, names):
        self.job = Ours(daemon, row, *names)
        self.name, self.seconds, self.answer = "epochd", [], None

    def run(self, epochs):
        self.job.job["epochs"] = epochs
        result = self.job.run()
        self.answer = dict(result.answer, epochs=epochs)
        return result.seconds / epochs

    def run_round(self, epochs):
        self.seconds.append(self.run(epochs))


class Sample(Bench):
    """Draws in place of the rows of the table."""

    def __init__(self, options, kind, rows):
        super().__init__(options, kind, rows)
        self.cores = sorted(os.sched_getaffinity(0))[:options.cores]
        self.core = ",".join(map(str, self.cores))  # what the daemon is pinned to
        self.lanes, self.deadline = [], 0
        self.end = time.monotonic() + options.seconds if options.seconds else None

    def late(self):
        return self.end is not None and time.monotonic() > self.end

    # --- a shard's peers ----------------------------------------------------------------------------

    def plan(self):
        """(module, device, variants of which the first that works counts, processes beside each other)"""
        cores, compiled = len(os.sched_getaffinity(0)), not self.options.no_compile
        if self.kind == "cuda":
            return [("torch", "cuda", ["graph", "eager"], max(1, cores // 5)),
                    ("jax", "cuda", ["scan"], max(1, cores // 3))] + \
                [("torch", "cuda", ["compile+graph"], max(1, cores // 4))] * compiled
        return [("torch", "cpu", ["eager"], 1), ("numpy", "cpu", ["arrays"], 1), ("sklearn", "cpu", ["sgd"], 1),
                ("jax", "cpu", ["scan"], 1)] + [("torch", "cpu", ["compile"], 1)] * compiled

    def prepare(self, rows):
        self.deadline = time.monotonic() + self.options.prepare_seconds
        self.lanes = []
        for row in rows:
            self.data_of(row)
        for module, device, variants, count in self.plan():
            for first in range(count):
                self.lanes.append(Lane(self, module, device, variants, rows[first::count]))
        threads = [threading.Thread(target=lane.prepare, daemon=True) for lane in self.lanes]
        # On a CPU one after the other where there are few cores: threads of two peers that wait for their own by
        # turning in circles take each other's cores.
        together = len(threads) if self.kind == "cuda" else max(1, len(os.sched_getaffinity(0)) // (2 * len(self.cores)))
        for first in range(0, len(threads), together):
            for thread in threads[first:first + together]:
                thread.start()
            if first == 0 and self.kind == "cuda":
                self.begin(rows)
            for thread in threads[first:first + together]:
                thread.join()

    def begin(self, rows):
        """A short job of each on the daemon, which from then on compiles in the background what is faster. Of fewer
        epochs it would be the CPU's."""
        for row in rows:
            daemon = self.daemon(row.one_core)
            try:
                OurRuns(daemon, row, self.upload(daemon, row)).run(row.epochs)
            except Exception as reason:  # is met again, and reported, when the network is measured
                self.said(reason)

    def peers_of(self, row):
        ready, missing = [], []
        for lane in self.lanes:
            if row not in lane.rows:
                continue
            name = f"{lane.module} {lane.device}"
            missing += [(f"{name} {variant}", reason) for variant, reason in lane.failed.get(row.name, [])]
            process, variants = lane.ready.get(row.name, (None, []))
            ready += [DrawnPeer(process, f"{name} {variant}", row, variant) for variant in variants]
        return ready, missing

    def forget(self, row):
        """Gives back what a network took, on peers and daemon and disk."""
        for lane in self.lanes:
            process, _ = lane.ready.get(row.name, (None, []))
            if process and not process.dead:
                try:
                    process.ask({"do": "drop", "name": row.name}, 30)
                except NotRun:
                    continue
        for name in (row.make.__name__, "first-" + row.name):
            for daemon in self.daemons.values():
                if (daemon, name) in self.uploaded:
                    daemon.ask("DELETE", f"/v1/datasets/{name}")
                    self.uploaded.discard((daemon, name))
            path, _ = self.files.pop(name, (None, None))
            if path:
                os.unlink(path)

    def said(self, reason):
        """The failure in a line; the connections begin anew, because one may have been left in an answer."""
        for daemon in self.daemons.values():
            daemon.connection.close()
        kind = "" if isinstance(reason, (NotRun, Failed)) else f"{type(reason).__name__}: "
        return (kind + str(reason))[:400]

    def close_lanes(self):
        for lane in self.lanes:
            lane.close()
        self.lanes = []

    # --- a network ----------------------------------------------------------------------------------

    def measure(self, row):
        """(ours, peers that ran, why others did not, epochs of a run)"""
        daemon = self.daemon(row.one_core)
        ours = OurRuns(daemon, row, self.upload(daemon, row))
        peers, missing = self.peers_of(row)
        for peer in list(peers):
            try:
                peer.find_rate()
            except NotRun as reason:
                missing.append((peer.name, str(reason)))
                peers.remove(peer)
        best = min((peer.rate for peer in peers), default=None)
        epochs = max(1, min(1000000, round(TRAINING_SECONDS / best))) if best else row.epochs
        rate = ours.run(max(1, epochs // 8))
        rate = min(rate, ours.run(max(1, epochs // 8))) if rate * epochs < OURS_SECONDS_MAX else rate
        epochs = max(1, min(epochs, int(OURS_SECONDS_MAX / max(rate, 1e-9))))
        self.settle(ours, epochs)
        begin = time.monotonic()
        for turn in range(ROUNDS[1]):
            took = time.monotonic() - begin
            if turn and took > self.options.network_seconds / (1 if turn < ROUNDS[0] else 3):
                break
            for who in [ours] + peers:
                if turn and who is not ours and who.rate > BEHIND * best:
                    continue
                try:
                    who.run_round(epochs)
                except NotRun as reason:
                    missing.append((who.name, str(reason)))
                    peers.remove(who)
        return ours, peers, missing, epochs

    def settle(self, ours, epochs):
        """Where there is a GPU, jobs that load the kernels which the daemon compiled while peers were prepared."""
        begin = time.monotonic()
        for _ in range(WARM_JOBS):
            if self.kind == "cuda" and time.monotonic() - begin < WARM_SECONDS:
                ours.run(epochs)

    def check(self, row, ours, peers):
        """(of whom, what is wrong or None) of a few steps from the same first weights; NotRun."""
        able = [peer for peer in peers if peer.name.startswith(("torch", "numpy"))]
        if not any(place.layer["type"] == "batch_norm" for place in row.drawn.places):
            able += [peer for peer in peers if peer.name.startswith("jax")]  # which keeps no running averages
        if not able:
            raise NotRun("no peer to check against")
        able.sort(key=lambda peer: ("torch", "numpy", "jax").index(peer.name.split()[0]))
        process, name, check = able[0].process, able[0].name.split()[0], check_row(row)
        variant = {"torch": "eager", "numpy": "arrays", "jax": "scan"}[name]
        try:
            daemon = self.daemon(row.one_core)
            path, first = self.data_of(check)
            said = process.ask({"do": "prepare", "work": check.work(path, first, [variant]), "seconds_max": 60}, 90)
            if not said["variants"]:
                raise NotRun(f"{name}: {said['failed']}")
            ask = {"do": "run", "name": check.name, "variant": variant}
            before, theirs = (process.ask(dict(ask, epochs=epochs), 60)["answer"]["train_loss"]
                              for epochs in (0, check.epochs))
            process.ask({"do": "drop", "name": check.name}, 30)
            job = Ours(daemon, check, *self.upload(daemon, check))
            pinned = dict(job.job, executor=ours.job.executor)
            job.job = pinned if daemon.refusal(pinned) is None else job.job
            mine = job.run().answer["train_loss"]
        finally:
            self.forget(check)
        return dict(of=name, executor=job.executor, first=before, theirs=theirs, ours=mine,
                    wrong=wrong_check(row.precision, before, theirs, mine))

    def executors(self, row, ours, epochs):
        """Seconds of an epoch on each executor that takes the job, or why not; but those that would take long."""
        found, job, ran = {}, dict(ours.job.job), statistics.median(ours.seconds)
        for name in executor_names(ours.job.device):
            if name == ours.job.executor:
                found[name] = {"seconds": ran}
                continue
            pinned = dict(job, executor=name, epochs=epochs)
            status, answer = ours.job.daemon.validate(pinned)
            if status >= 300:
                continue
            expected = min((each["seconds"] - each["start_seconds"] for each in answer["estimates"]), default=0)
            if expected / epochs > max(2.0, 20 * ran):
                found[name] = {"left_out": f"{expected / epochs:.3g} s an epoch are expected"}
                continue
            pinned["epochs"] = max(1, min(epochs, int(epochs / max(expected, 1e-9))))
            runs = Pinned(ours.job, pinned)
            try:
                found[name] = {"seconds": statistics.median([runs.run() for _ in range(3)][1:])}
            except Failed as reason:
                found[name] = {"failed": str(reason)[:200]}
        return found


def executor_names(device):
    """Those of the device's kind, of its table of executors."""
    kind = device.split(":")[0]
    with open(os.path.join(ROOT, "kernels", kind, "executors", "table.h")) as table:
        return [f"{kind}/{name}" for name in re.findall(r"^  X\((\w+)", table.read(), re.M)]


class Pinned:
    """A job of one executor; the first run compiles."""

    def __init__(self, ours, job):
        self.daemon, self.job = ours.daemon, job

    def run(self):
        end, _ = self.daemon.stream(self.job)
        done = self.daemon.job(end["job"])
        return done["timing"]["train_seconds"] / self.job["epochs"]


def wrong_check(precision, before, theirs, mine):
    """What is wrong with the loss after the check; NaN is wrong but where the peer's is one too."""
    if theirs is None or theirs != theirs:
        return None if mine is None or mine != mine else f"loss {mine:.6g}, the peer's is no number"
    went, share = CHECK_SHARES[precision]
    if mine is not None and abs(mine - theirs) <= went * abs(theirs - before) + share * abs(theirs):
        return None
    return f"loss {mine} after a few steps, the peer's {theirs:.6g}, the first {before:.6g}"


def apart(check, mine, peers):
    """Whether the loss of the whole training is far above that of a peer that trained as long."""
    whole = [peer.answer for peer in peers if peer.answer and peer.answer["epochs"] == mine["epochs"] and
             not peer.name.startswith("sklearn")]
    losses = [answer["train_loss"] for answer in whole if answer.get("train_loss") is not None]
    if not losses or mine["train_loss"] is None or not check:
        return None
    far = mine["train_loss"] - statistics.median(losses)
    if far <= APART * abs(check["first"]):
        return None
    return f"{mine['train_loss']:.4g}, peers {statistics.median(losses):.4g}"


def evaluate(sample, row):
    """The network as it goes into the JSON."""
    out = {"index": row.index, "title": row.title, "kind": row.drawn.kind, "precision": row.precision,
           "operations_a_step": row.operations()[0], "steps": row.steps(), "rows": row.rows_count,
           "parameters": row.parameters()}
    try:
        ours, peers, missing, epochs = sample.measure(row)
    except Exception as reason:  # whatever one network meets, the next one is measured
        return dict(out, not_run=sample.said(reason))
    out.update(epochs=epochs, executor=ours.job.executor, device=ours.job.device,
               tried=ours.job.tried, seconds_an_epoch=statistics.median(ours.seconds), runs=ours.seconds, answer=ours.answer,
               peers=sorted(({"name": peer.name, "seconds_an_epoch": statistics.median(peer.seconds),
                              "runs": peer.seconds, "answer": peer.answer} for peer in peers if peer.seconds),
                            key=lambda entry: entry["seconds_an_epoch"]),
               not_there=[{"name": name, "reason": reason[:300]} for name, reason in missing])
    try:
        out["check"] = sample.check(row, ours, peers)
    except Exception as reason:
        out["check"], out["unchecked"] = None, sample.said(reason)
    out["apart"] = apart(out["check"], ours.answer, peers)
    if out["peers"] and not (out["check"] or {}).get("wrong"):
        out["best_peer"] = out["peers"][0]["name"]
        out["ratio"] = out["peers"][0]["seconds_an_epoch"] / out["seconds_an_epoch"]
    if sample.options.executors:
        try:
            out["executors"] = sample.executors(row, ours, epochs)
        except Exception as reason:
            out["executors"], out["executors_failed"] = {}, sample.said(reason)
    return out


def shard(sample, rows, out, path):
    """Prepares and measures these; what was measured is on disk, whatever comes."""
    print(f"  {rows[0].name} to {rows[-1].name}: preparing the peers …", flush=True)
    began = time.monotonic()
    try:
        sample.prepare(rows)
        for lane in sample.lanes:
            if lane.version or lane.absent:
                out["versions"][f"{lane.module} {lane.device}"] = lane.version or f"not there: {lane.absent}"
        lanes = ", ".join(f"{lane.module} {lane.variants[0]} {lane.seconds:.0f}" for lane in sample.lanes)
        print(f"  prepared in {time.monotonic() - began:.0f} s ({lanes})", flush=True)
        for row in rows:
            if sample.late():
                print("  the time is over: run again to go on", flush=True)
                return
            out["networks"].append(evaluate(sample, row))
            try:
                sample.forget(row)
            except OSError as reason:
                print(f"  not given back: {sample.said(reason)}")
            report.write(out, path + ".new")
            os.replace(path + ".new", path)
            print("  " + sample_tables.line(out["networks"][-1]), flush=True)
    finally:
        sample.close_lanes()


def refusals(sample, rows):
    """Which of the draws the daemon would refuse, from a few rows of each."""
    refused = 0
    daemon = sample.daemon(sample.kind == "cpu")
    for row in rows:
        batch = row.batch_rows()
        few = min(row.rows_count, 64)
        small = make_row(row.name, row.drawn, few, "full" if batch >= few else batch, row.layers, row.shuffle)
        small.device, small.precision, small.draws_first, small.epochs = row.device, row.precision, 0, row.epochs
        reason = daemon.refusal(small.job(*sample.upload(daemon, small)))
        sample.forget(small)
        if reason:
            refused += 1
            print(f"  {row.name}: {reason}\n    {row.title}", flush=True)
    print(f"{refused} of {len(rows)} draws are refused")
    return 1 if refused else 0


def resumed(path, head):
    """What the file holds of the same sample; new where there is none."""
    if os.path.exists(path):
        with open(path) as file:
            out = json.load(file)
        for field in ("seed", "kind"):
            if out.get(field) != head[field]:
                raise SystemExit(f"{path} has {field} {out.get(field)}: name another file with --json")
        out["networks"] = [entry for entry in out["networks"] if "not_run" not in entry]  # they get another chance
        return out
    return dict(report.machine(), **head, versions={}, networks=[])


def main():
    parser = argparse.ArgumentParser(description="measures; see tests/bench/sample")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--stripped", help=argparse.SUPPRESS)
    parser.add_argument("--json", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=SHARD)
    parser.add_argument("--only", type=lambda text: [int(index) for index in text.split(",")],
                        help="indices, in place of --from and --count")
    parser.add_argument("--cores", type=int, default=1, help="of the CPU's measurements")
    parser.add_argument("--device", default="auto", help="of the jobs where there is a GPU")
    parser.add_argument("--executors", action="store_true")
    parser.add_argument("--seconds", type=float, help="no network begins later than this")
    parser.add_argument("--network-seconds", type=float, default=9)
    parser.add_argument("--prepare-seconds", type=float, default=240, help="of a shard")
    parser.add_argument("--compile-seconds", type=float, default=75, help="of a peer's network")
    parser.add_argument("--no-compile", action="store_true", help="leaves torch.compile out")
    parser.add_argument("--show", action="store_true", help="prints what the file holds")
    parser.add_argument("--validate", action="store_true", help="asks the daemon alone whether it takes the draws")
    parser.add_argument("kind", nargs="?", choices=("cpu", "cuda"))
    options = parser.parse_intermixed_args()
    kind = options.kind or report.kinds_here(options.prefix)[0]
    out = resumed(options.json, {"seed": options.seed, "kind": kind})
    if options.show:
        for entry in out["networks"]:
            print("  " + sample_tables.line(entry))
        return sample_tables.show(out)
    done = {entry["index"] for entry in out["networks"]}
    rows = [row_of(options.seed, index, options, kind)
            for index in options.only or range(options.first, options.first + options.count)
            if options.validate or index not in done]
    sample = Sample(options, kind, rows)
    try:
        if options.validate:
            return refusals(sample, rows)
        for first in range(0, len(rows), SHARD):
            if not sample.late():
                shard(sample, rows[first:first + SHARD], out, options.json)
    except KeyboardInterrupt:
        print("\ninterrupted: what was measured so far stays")
    finally:
        sample.close()
    sample_tables.show(out)
    print(f"\nwritten to {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
