#!/usr/bin/env python3
"""study.py: the measurements of tests/bench/study. A cell is a network of `depth` hidden layers of
`width` with ReLU on `rows` rows of 16 features, full batch, squared error. The daemon is first asked what
it expects of a network that it has never seen; then that is trained on each device alone, and once on
`auto`, which by then knows it. Where there is no GPU, what is expected of the CPU is held to what it does.

The GPU's kernels are compiled before, by daemons side by side that share a folder with the one that is
measured, which never hears of it: one after the other they would take longer than all the rest. Where
the devices are close, both are measured again at the end: a processor that shares its cores with strangers is half as
fast for seconds at a time."""

import argparse
import itertools
import os
import tempfile
import threading
import time

import numpy as np

import chart
import report
import workloads
from daemon import Daemon, Failed, start

WIDTHS, DEPTHS, ROWS = (4, 16, 64, 256, 1024), (1, 2, 4, 8), (64, 256, 1024, 4096, 16384)
FEATURES = 16
DOUBLING_LAYERS = range(2, 13)
TARGET_SECONDS = 0.03  # of the faster device's run: long against a start
SLOWER_SECONDS_MAX = 0.08  # the slower device is run for fewer epochs beyond that
EPOCHS_MAX = 100000
LONG_EPOCH_SECONDS = 0.1
HOPELESS = (0.5, 20)  # an epoch of more seconds, and so many times another device's, is expected and not run
AGAIN = 2  # runs of each, of which the fastest counts
CLOSE, CLOSE_ROUNDS = 2, 2  # how many times as long makes devices not close; how often close ones are run again
COMPILERS_MAX = 8  # daemons that compile


def table(rows):
    random = np.random.default_rng(rows)
    x = random.normal(size=(rows, FEATURES)).astype(np.float32)
    y = np.sin(x.sum(1)).astype(np.float32)
    return {"x_train": x, "y_train": y, "x_test": x[:16], "y_test": y[:16]}


def upload(daemon, name, arrays):
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, **arrays)
        file.seek(0)
        daemon.upload(name, file.read())


def upload_all(daemon, parts):
    for rows in ROWS if "cells" in parts else ():
        upload(daemon, f"rows-{rows}", table(rows))
    if "doubling" in parts:
        upload(daemon, "disc", workloads.disc())


def job_of(dataset, layers, loss, **more):
    return dict({"data": {"dataset": dataset}, "model": {"layers": layers}, "loss": loss,
                 "optimizer": {"lr": 0.001}, "shuffle": False}, **more)


def cell_jobs():
    """[(what the cell is, its job, steps an epoch)]"""
    order = list(itertools.product(WIDTHS, DEPTHS, ROWS))
    np.random.default_rng(1).shuffle(order)  # so that a study that was cut has seen all corners
    return [({"width": int(width), "depth": int(depth), "rows": int(rows)},
             job_of(f"rows-{rows}", workloads.dense(*[int(width)] * int(depth), 1), "mse", batch_size="full"), 1)
            for width, depth, rows in order]


def doubling_jobs():
    return [({"layers": layers}, job_of("disc", workloads.doubling(layers), "cross_entropy", batch_size=100), 10)
            for layers in DOUBLING_LAYERS]


def compile_some(prefix, device, parts, jobs):
    """Trains each for an epoch: then its kernel is in the cache."""
    daemon = Daemon(prefix, devices=device)
    try:
        daemon.wait_for(device.split(":")[0], calibrated=False)
        upload_all(daemon, parts)
        for _, job, _ in jobs:
            daemon.stream(dict(job, device=device, epochs=1, report_every=1))
    except Failed as reason:
        print(f"not compiled beforehand: {reason}")
    finally:
        daemon.stop()


def compile_calibration(prefix, device):
    """What a daemon compiles to time it; the times are not kept."""
    try:
        start(prefix, device, device.split(":")[0]).stop()
    except Failed as reason:
        print(f"not compiled beforehand: {reason}")


def compile_all(prefix, device, parts, jobs):
    """By daemons side by side."""
    count = min(COMPILERS_MAX, len(os.sched_getaffinity(0)))
    began = time.monotonic()
    threads = [threading.Thread(target=compile_some, args=(prefix, device, parts, jobs[number::count]))
               for number in range(count)] + [threading.Thread(target=compile_calibration, args=(prefix, device))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"compiled beforehand: {len(jobs)} networks in {time.monotonic() - began:.1f} s")


class Study:
    def __init__(self, options, parts):
        self.devices = sorted(report.kinds_here(options.prefix))
        self.jobs = {"doubling": doubling_jobs(), "cells": cell_jobs()}
        self.close = []  # [(cell, job)]
        self.cache = tempfile.TemporaryDirectory(prefix="epochd-study.")
        os.environ["EPOCHD_CACHE_DIR"] = self.cache.name
        if "cuda" in self.devices:
            compile_all(options.prefix, "cuda:0", parts, [job for part in parts for job in self.jobs[part]])
        self.daemon = start(options.prefix, "auto" if "cuda" in self.devices else "cpu", self.devices[-1])
        upload_all(self.daemon, parts)
        self.until = time.monotonic() + options.seconds

    def run(self, job, device, epochs):
        end, _ = self.daemon.stream(dict(job, device=device, epochs=epochs, report_every=epochs))
        done = self.daemon.job(end["job"])
        return done["timing"]["train_seconds"], done

    def rate(self, job, device, expected, steps):
        """(seconds an epoch, the epochs that were run if that is all there is to know, executor): roughly,
        after one run that compiles; where an epoch is long, that run says it all."""
        each = expected[device]["seconds_a_step"]
        least = min(other["seconds_a_step"] for other in expected.values())
        if each * steps > HOPELESS[0] and (each > HOPELESS[1] * least or len(self.devices) == 1):
            return each * steps, 0, expected[device]["executor"]
        seconds, done = self.run(job, device, 1)
        if seconds > LONG_EPOCH_SECONDS:
            return seconds, 1, done["executor"]
        seconds = self.run(job, device, 1)[0]
        count = min(EPOCHS_MAX, int(TARGET_SECONDS / 4 / max(seconds, 1e-9)))
        if count > 1:
            seconds = self.run(job, device, count)[0] / count
        return seconds, None, done["executor"]

    def measured(self, job, device, rough, epochs):
        """Seconds an epoch and the epochs of the run; the slower device is run for as many as fit."""
        each, done, _ = rough
        if done is not None:
            return each, done
        count = max(1, min(epochs, int(SLOWER_SECONDS_MAX / each)))
        return min(self.run(job, device, count)[0] for _ in range(AGAIN)) / count, count

    def estimates(self, job, epochs):
        status, answer = self.daemon.validate(dict(job, device="auto", epochs=epochs))
        if status >= 300:
            raise Failed(f"auto: {status} {answer}")
        return answer["estimates"]

    def predict(self, job, steps, out):
        """What each device would need for a step, and so which is the faster, of a network that is new."""
        new = {each["device"].split(":")[0]: each for each in self.estimates(job, EPOCHS_MAX)}
        out["predictions"] = {
            device: {"executor": each["executor"], "start_seconds": each["start_seconds"],
                     "seconds_a_step": (each["seconds"] - each["start_seconds"]) / EPOCHS_MAX / steps}
            for device, each in new.items()}
        out["predicted"] = min(out["predictions"], key=lambda device: out["predictions"][device]["seconds_a_step"])

    def choice(self, job, epochs, out):
        """The kind that auto takes: by the estimates, whose least it takes; and where that costs little,
        by trying."""
        answer = self.estimates(job, epochs)
        out["estimates"] = {each["device"]: [each["executor"], each["seconds"]] for each in answer}
        least = min(answer, key=lambda each: each["seconds"])["device"].split(":")[0]
        if out["devices"][least]["seconds_a_step"] * out["steps"] * epochs > SLOWER_SECONDS_MAX:
            return least
        return self.run(job, "auto", epochs)[1]["device"].split(":")[0]

    def cell(self, job, steps):
        """The same job on each device: seconds a step."""
        out = {"steps": steps}
        self.predict(job, steps, out)
        rough = {device: self.rate(job, device, out["predictions"], steps) for device in self.devices}
        fastest = min(each for each, _, _ in rough.values())
        epochs = max(1, min(EPOCHS_MAX, int(TARGET_SECONDS / fastest)))
        out.update(epochs=epochs, devices={})
        for device in self.devices:
            each, count = self.measured(job, device, rough[device], epochs)
            out["devices"][device] = {"seconds_a_step": each / steps, "executor": rough[device][2], "epochs": count}
        return out

    def judge(self, job, out):
        """What auto takes, and what that costs."""
        out["auto"] = self.choice(job, out["epochs"], out)
        best = min(out["devices"], key=lambda device: out["devices"][device]["seconds_a_step"])
        loss = {device: each["seconds_a_step"] / out["devices"][best]["seconds_a_step"] - 1
                for device, each in out["devices"].items()}
        out.update(faster=best, lost=loss[out["auto"]], predicted_lost=loss[out["predicted"]])

    def part(self, name, out):
        """Appends the cells of a part of the study."""
        for what, job, steps in self.jobs[name]:
            if time.monotonic() > self.until:
                return
            cell = dict(self.cell(job, steps), **what)
            seconds = sorted(each["seconds_a_step"] for each in cell["devices"].values())
            if seconds[0] * CLOSE > seconds[-1] and len(seconds) > 1:
                self.close.append((cell, job))
            self.judge(job, cell)
            out.append(cell)

    def again(self):
        """The cells whose devices are close, round by round."""
        for round in range(CLOSE_ROUNDS):
            for cell, job in self.close:
                for device, each in cell["devices"].items() if time.monotonic() < self.until else ():
                    seconds = self.run(job, device, each["epochs"])[0] / each["epochs"] / cell["steps"]
                    each["seconds_a_step"] = min(seconds, each["seconds_a_step"])
        for cell, job in self.close:
            self.judge(job, cell)

    def end(self):
        self.daemon.stop()
        self.cache.cleanup()


def errors(cells):
    """By executor: how far what was expected of it was off, in the middle, and in how many cells."""
    found = {}
    for cell in cells:
        for device, each in cell["devices"].items():
            said = cell["predictions"][device]
            if each["epochs"] > 0 and said["executor"] == each["executor"]:
                found.setdefault(each["executor"], []).append(abs(said["seconds_a_step"] / each["seconds_a_step"] - 1))
    return {executor: {"median": float(np.median(off)), "cells": len(off)} for executor, off in found.items()}


def summary(cells):
    lost = [cell["lost"] for cell in cells]
    new = [cell["predicted_lost"] for cell in cells]
    return {"cells": len(cells), "of": len(WIDTHS) * len(DEPTHS) * len(ROWS),
            "expected_only": sum(any(device["epochs"] == 0 for device in cell["devices"].values()) for cell in cells),
            "predicted_the_faster": new.count(0.0), "predicted_lost_at_most": max(new),
            "predicted_lost_20_percent_or_more": sum(each >= 0.2 for each in new),
            "auto_took_the_faster": lost.count(0.0), "lost_at_most": max(lost),
            "lost_20_percent_or_more": sum(each >= 0.2 for each in lost), "expected_off": errors(cells)}


def main():
    parser = argparse.ArgumentParser(description="see tests/bench/study")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--stripped", help="not used here")
    parser.add_argument("--json", required=True)
    parser.add_argument("--svg")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("parts", nargs="*", metavar="cells|doubling")
    options = parser.parse_intermixed_args()
    out = dict(report.machine(), cells=[], doubling=[])
    study = None
    try:
        parts = [part for part in ("doubling", "cells") if not options.parts or part in options.parts]
        study = Study(options, parts)
        for part in parts:
            study.part(part, out[part])
            report.write(out, options.json)
        study.again()
    except KeyboardInterrupt:
        print("\ninterrupted: what was measured so far stays")
    except Failed as reason:
        out["not_run"] = str(reason)
        print(f"not run: {reason}")
    finally:
        if study:
            out["calibrations"] = study.daemon.calibrations()
            study.end()
    out["summary"] = summary(out["cells"]) if out["cells"] else None
    report.write(out, options.json)
    if study and len(study.devices) > 1 and (out["cells"] or out["doubling"]):
        path = options.svg or os.path.splitext(options.json)[0] + ".svg"
        chart.write(out, path)
        print(f"chart: {path}")
    for cell in sorted(out["doubling"], key=lambda cell: cell["layers"]):
        print(f"  disc {cell['layers']:>2} layers  " + "  ".join(
            f"{device} {each['seconds_a_step'] * 1e6:9.1f} us ({each['executor']})"
            for device, each in cell["devices"].items()) + f"  auto: {cell['auto']}")
    for cell in out["cells"]:
        for word, which, lost in (("expected", "predicted", "predicted_lost"), ("took", "auto", "lost")):
            if cell[which] != cell["faster"]:
                print(f"  auto {word} {cell[which]} at width {cell['width']}, depth {cell['depth']}, "
                      f"{cell['rows']} rows: lost {cell[lost]:.0%}")
    print(f"  {out['summary']}\nwritten to {options.json}")


if __name__ == "__main__":
    main()
