#!/usr/bin/env python3
"""bench.py [cpu|cuda] [ROW…]: the measurements of tests/bench/run, which says what is in the
environment. The daemon and the peers of a row take turns, run after run, so that what the machine does
beside hits all of them. A row that could not be run is in the table, with the reason."""

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
import numpy as np  # noqa: E402 (after the number of its threads)

import energy  # noqa: E402
import footprint  # noqa: E402
import report  # noqa: E402
import workloads  # noqa: E402
from contenders import NotRun, Ours, Peer, PeerProcess  # noqa: E402
from daemon import Daemon, Failed, safetensors, start  # noqa: E402

ROUNDS = (3, 7)  # at least, and at most while a third of the row's time is left
ENERGY_SECONDS = 0.6  # a counter of energy moves in steps of some 20 to 100 ms


class Bench:
    """What the rows share: daemons, data, peers."""

    def __init__(self, options, kind, rows):
        self.options, self.kind = options, kind
        self.rows = [row for row in rows if kind in row.runs]
        self.folder = tempfile.TemporaryDirectory(prefix="epochd-bench-data.")
        self.core = min(os.sched_getaffinity(0))
        self.daemons, self.files, self.peers, self.prepared = {}, {}, {}, {}
        self.reasons = {}  # row's name -> why its data are not there
        self.uploaded = set()

    def daemon(self, one_core=False):
        if one_core not in self.daemons:
            devices = "cpu" if one_core or self.kind == "cpu" else "auto"
            if one_core:
                started = Daemon(self.options.prefix, self.core)
                started.wait_for("cpu")
            else:
                started = start(self.options.prefix, devices, "cuda" if devices == "auto" else "cpu")
            self.daemons[one_core] = started
        return self.daemons[one_core]

    def file(self, name, make):
        """The NPZ of that name in the folder of this run, written once."""
        if name not in self.files:
            path = os.path.join(self.folder.name, name + ".npz")
            arrays = make()
            np.savez(path, **arrays)
            self.files[name] = (path, arrays)
        return self.files[name]

    def data_of(self, row):
        """(file of the rows, file of the first weights or None); workloads.Missing."""
        path, arrays = self.file(row.make.__name__, row.make)
        row.rows_count = len(arrays["x_train"])
        first = None
        if row.draws_first:
            first = self.file("first-" + row.name, lambda: workloads.first_weights(row))[0]
        return path, first

    def upload(self, daemon, row):
        """The names of the data set and of the first weights on this daemon."""
        path, first = self.data_of(row)
        name = row.make.__name__
        if (daemon, name) not in self.uploaded:
            daemon.upload(name, open(path, "rb").read())
            self.uploaded.add((daemon, name))
        if not first:
            return name, None
        weights = "first-" + row.name
        if (daemon, weights) not in self.uploaded:
            daemon.upload(weights, safetensors(self.files[weights][1]))
            self.uploaded.add((daemon, weights))
        return name, weights

    # --- peers --------------------------------------------------------------------------------------

    def prepare(self):
        """Starts the peers of all rows and has each compile and warm up what it will run; several at
        once, because compilers are slow, and nothing is timed yet."""
        asked = {}
        for row in self.rows:
            try:
                self.data_of(row)
            except workloads.Missing as missing:
                self.reasons[row.name] = str(missing)
                continue
            for module, device, one_core, variants in row.peers:
                if (device == "cuda" and self.kind == "cpu") or (self.options.no_compile and "compile" in variants):
                    continue
                lane = "compile" if "compile" in variants else ""
                asked.setdefault((module, device, one_core, lane), []).append((row, variants))
        deadline = time.monotonic() + self.options.prepare_seconds
        threads = [threading.Thread(target=self._prepare_peer, args=(key, rows, deadline), daemon=True)
                   for key, rows in asked.items()]
        # One after the other where there are few cores: imports alone would be late.
        together = max(1, len(os.sched_getaffinity(0)) // 2)
        for first in range(0, len(threads), together):
            for thread in threads[first:first + together]:
                thread.start()
            for thread in threads[first:first + together]:
                thread.join()

    def _prepare_peer(self, key, rows, deadline):
        module, device, one_core, _ = key
        name = f"{module} {device}" + (" 1 core" if one_core else "")
        peer = {"name": name, "version": None, "process": None, "absent": None}
        self.peers[key] = peer
        try:
            peer["process"] = PeerProcess(module, device, [self.core] if one_core else None)
            peer["version"] = peer["process"].hello()
        except NotRun as reason:
            peer["absent"] = str(reason)
            return
        for row, variants in rows:
            try:
                path, first = self.data_of(row)
                left = deadline - time.monotonic()
                said = peer["process"].ask({"do": "prepare", "work": row.work(path, first, variants)},
                                           max(left, 5))
                self.prepared[key + (row.name,)] = said
            except NotRun as reason:
                self.prepared[key + (row.name,)] = {"variants": {}, "failed": {"": str(reason)}}

    def peers_of(self, row):
        """Those that are ready to run the row, and why the others are not."""
        ready, missing = [], []
        for module, device, one_core, variants in row.peers:
            lane = "compile" if "compile" in variants else ""
            key = (module, device, one_core, lane)
            peer = self.peers.get(key)
            if peer is None:
                continue
            if peer["absent"]:
                missing.append((peer["name"], peer["absent"]))
                continue
            said = self.prepared.get(key + (row.name,), {"variants": {}, "failed": {"": "was not asked"}})
            for variant, reason in said["failed"].items():
                missing.append((f"{peer['name']} {variant}".strip(), reason))
            for variant in said["variants"]:
                several = module == "torch" and device == "cuda"
                name = f"{peer['name']} {variant}" if several else peer["name"]
                ready.append(Peer(peer["process"], name, row, variant, said["variants"][variant]))
        return ready, missing

    # --- a row --------------------------------------------------------------------------------------

    def measure(self, row):
        """{name: [Result]} of all who run the row, and (name, reason) of those who do not."""
        if row.name in self.reasons:
            raise NotRun(self.reasons[row.name])
        daemon = self.daemon(row.one_core)
        ours = Ours(daemon, row, *self.upload(daemon, row))
        peers, missing = self.peers_of(row)
        missing = [("epochd, " + reason.split(":")[0], reason) for reason in ours.refusals] + missing
        ours.warm()
        begin, runs = time.monotonic(), {ours.name: []}
        everyone = [ours] + peers
        for turn in range(ROUNDS[1]):
            took = time.monotonic() - begin
            if took > self.options.row_seconds or (turn >= ROUNDS[0] and took > self.options.row_seconds / 3):
                break
            for who in list(everyone):
                late = time.monotonic() - begin > self.options.row_seconds
                if turn and (late or who.part):  # a rate is known after one run
                    continue
                try:
                    runs.setdefault(who.name, []).append(who.run())
                except NotRun as reason:
                    missing.append((who.name, str(reason)))
                    everyone.remove(who)
        return ours, peers, runs, missing

    def watts(self, counter, who):
        """The mean power while this contender runs again and again."""
        begin, before = time.monotonic(), counter.joules()
        while time.monotonic() - begin < ENERGY_SECONDS:
            who.run()
        after = counter.joules()
        if before is None or after is None or after <= before:
            return None
        return (after - before) / (time.monotonic() - begin)

    def close(self):
        for peer in self.peers.values():
            if peer["process"]:
                peer["process"].end()
        for daemon in self.daemons.values():
            daemon.stop()
        self.folder.cleanup()


def same_loss(row, ours, others):
    """Whether the training loss is the peers', from the same first weights; of peers that trained as long
    and started from the same."""
    if row.same is None:
        return None
    losses = [other["answer"]["train_loss"] for other in others
              if not other["scaled"] and not other["wrong"] and other["name"].split()[0] in ("torch", "jax", "numpy")]
    mine = ours["train_loss"]
    for loss in losses:
        if not abs(mine - loss) <= row.same * abs(loss):
            return f"training loss {mine:.6g}, a peer's from the same first weights is {loss:.6g}"
    return None


def figures(row, results):
    """A contender's runs as one entry: the median of the seconds, the answer of the last run."""
    seconds = statistics.median(result.seconds for result in results)
    entry = {"seconds": seconds, "runs": len(results), "scaled": any(result.scaled for result in results),
             "microseconds_a_step": seconds / (row.epochs * row.steps()) * 1e6, "answer": results[-1].answer,
             "spread": [min(result.seconds for result in results), max(result.seconds for result in results)]}
    if results[0].wall is not None:
        entry["wall_seconds"] = statistics.median(result.wall for result in results)
    return entry


def evaluate(bench, row, counter):
    """The row as it goes into the JSON."""
    out = {"name": row.name, "title": row.title, "kind": bench.kind, "epochs": row.epochs}
    try:
        ours, peers, runs, missing = bench.measure(row)
    except (NotRun, Failed) as reason:
        return dict(out, not_run=str(reason))
    mine = figures(row, runs[ours.name])
    mine.update(device=ours.device, executor=ours.executor, precision=ours.job["precision"],
                wrong=row.right(mine["answer"]))
    others = []
    for peer in peers:
        if runs.get(peer.name):
            entry = dict(figures(row, runs[peer.name]), name=peer.name)
            # Where only a part was trained there is no answer to judge; FANN has another network.
            judged = not entry["scaled"] and not peer.name.startswith("fann")
            entry["wrong"] = row.right(entry["answer"]) if judged else None
            others.append(entry)
    mine["wrong"] = mine["wrong"] or same_loss(row, mine["answer"], others)
    others.sort(key=lambda entry: entry["seconds"])
    best = next((entry for entry in others if not entry["wrong"]), None)
    if counter and counter.source:
        watched = [(ours, mine)] + [(peer, best) for peer in peers if best and peer.name == best["name"]]
        for who, entry in watched:
            try:
                entry["watts"] = bench.watts(counter, who)
            except NotRun:
                entry["watts"] = None
            entry["joules"] = entry["watts"] and entry["watts"] * entry["seconds"]
    counted, needed = row.operations()
    out.update(steps=row.epochs * row.steps(), parameters=row.parameters(), operations_a_step=counted,
               operations_needed_a_step=needed, bytes_a_step=row.bytes(),
               working_set_bytes=row.working_set_bytes(), epochd=mine, peers=others,
               flops=counted * row.epochs * row.steps() / mine["seconds"],
               not_there=[{"name": name, "reason": reason} for name, reason in missing])
    if best and not mine["wrong"]:
        out.update(best_peer=best["name"], ratio=best["seconds"] / mine["seconds"])
    out["wanted"] = [report.judge_wanted(wanted, out, others) for wanted in row.wanted]
    return out


def ceilings(bench):
    """What this machine can do at most, by the libraries that are there."""
    found = {}
    for (module, device, one_core, lane), peer in bench.peers.items():
        wanted = (module, device, lane) == ("torch", "cuda", "") or (module, one_core) == ("numpy", True)
        if wanted and peer["process"] and not peer["absent"]:
            try:
                found["GPU" if device == "cuda" else "one core"] = peer["process"].ask({"do": "ceilings"}, 60)
            except NotRun:
                continue
    return found


def measure_kind(options, kind, names, out):
    """All rows of one kind of machine into `out`, one after the other, so that what was measured stays
    when this is interrupted."""
    rows = [row for row in workloads.ROWS if not names or row.name in names]
    bench = Bench(options, kind, rows)
    counter = energy.Counter() if kind == "cuda" else None
    try:
        for name, special in footprint.ROWS.items():
            if (not names or name in names) and kind in special.runs:
                print(f"  {name} …", flush=True)
                try:
                    out["others"].append(dict(special.measure(bench), name=name, kind=kind))
                except (NotRun, Failed) as reason:
                    out["others"].append({"name": name, "kind": kind, "not_run": str(reason)})
        print(f"  preparing the peers ({kind}) …", flush=True)
        began = time.monotonic()
        bench.prepare()
        out["prepare_seconds"][kind] = round(time.monotonic() - began, 1)
        for peer in bench.peers.values():
            out["versions"][peer["name"]] = peer["version"] or f"not there: {peer['absent']}"
        out["ceilings"].update(ceilings(bench))
        for row in bench.rows:
            print(f"  {row.name} …", flush=True)
            out["rows"].append(evaluate(bench, row, counter))
            report.write(out, options.json)  # so that it is there, whatever comes
    finally:
        if counter:
            out["energy"] = counter.source
            counter.close()
        bench.close()


def main():
    parser = argparse.ArgumentParser(description="measures; see tests/bench/run")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--stripped")
    parser.add_argument("--json", required=True)
    parser.add_argument("--row-seconds", type=float, default=12)
    parser.add_argument("--prepare-seconds", type=float, default=120)
    parser.add_argument("--no-compile", action="store_true", help="leaves torch.compile out, which takes long")
    parser.add_argument("names", nargs="*", metavar="cpu|cuda|ROW")
    options = parser.parse_intermixed_args()
    kinds = [name for name in options.names if name in ("cpu", "cuda")] or report.kinds_here(options.prefix)
    names = [name for name in options.names if name not in ("cpu", "cuda")]
    known = {row.name for row in workloads.ROWS} | set(footprint.ROWS)
    if set(names) - known:
        raise SystemExit(f"there is no row {sorted(set(names) - known)}; there are {sorted(known)}")
    out = dict(report.machine(), versions={}, ceilings={}, prepare_seconds={}, rows=[], others=[])
    out["began"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        for kind in kinds:
            measure_kind(options, kind, names, out)
    except KeyboardInterrupt:
        print("\ninterrupted: what was measured so far stays")
        out["interrupted"] = True
    report.write(out, options.json)
    report.show(out)
    print(f"\nwritten to {options.json}")
    wrong = [row["name"] for row in out["rows"] if row.get("epochd", {}).get("wrong")]
    return f"wrong answers: {', '.join(wrong)}" if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
