#!/usr/bin/env python3
"""bit_flips.py EPOCHD DATA SCRATCH --flips N --seed S: flips one bit of one file of a copy of the data folder DATA
at a time, starts epochd on the copy, asks for everything, and compares with what the folder gave before.

Outcomes of a flip:
  harmless  everything is answered as before, and the file is as it was or says the same
  mended    everything is answered as before, and the daemon has written the file anew
  noticed   an answer is an error of the server, a job is failed as damaged, or the log names the damage
  refused   the daemon does not start, and says which file is at fault
  WRONG     an answer has other bytes, without a word
  LOST      a file is gone
  DOWN      the daemon does not start, without a reason; or it dies
The seed and the names of the files decide every flip.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from summary import summary

PATIENCE_SECONDS = 120
FORMATS = ("", "?format=json", "?format=npz", "?format=onnx")
SHOWN = 12


def files_of(folder):
    """The kinds of files and their paths, in an order that is the same for every run: ids are not."""
    kinds = {}
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.relpath(os.path.join(root, name), folder)
            where = path.split(os.sep)[0]
            kind = {"jobs": "jobs/*/", "datasets": "datasets/*/", "calibration": "calibration/"}.get(where, "")
            kinds.setdefault(kind + ("*" if kind == "calibration/" else name), []).append(path)
    kinds.pop("epochd.sqlite-shm", None)  # written anew at each start
    return kinds


class Daemon:
    def __init__(self, program, folder, log):
        self.log = open(log, "wb")
        self.path = log
        self.process = subprocess.Popen([program, "--listen", "127.0.0.1:0", "--data-dir", folder, "--devices", "cpu"],
                                        stderr=self.log, stdout=self.log)
        self.url = None

    def said(self):
        with open(self.path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def listens(self):
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            found = re.search(r'listening on (http://[^" ]*)', self.said())
            if found:
                self.url = found[1]
                return True
            time.sleep(0.005)
        return False

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method, data=body and json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"} if body else {})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_SECONDS)
        self.log.close()
        return code == 0


def train(daemon, spec):
    """What a new job of this spec ends with: state, message, the weights' hash."""
    code, body = daemon.ask("POST", "/v1/jobs", spec)
    if code != 201:
        return code, body
    job = json.loads(body)["id"]
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        shown = json.loads(daemon.ask("GET", f"/v1/jobs/{job}?wait=30")[1])
        if shown["status"] in ("succeeded", "failed", "cancelled"):
            break
    daemon.ask("DELETE", f"/v1/jobs/{job}")
    if shown["status"] == "succeeded":
        return 200, shown["weights"]["sha256"].encode()
    return 500, json.dumps(shown["error"]).encode()


def observe(daemon, plan):
    """All that a client can see of the folder: {what was asked: (code, bytes)}."""
    seen = {}
    until = time.monotonic() + PATIENCE_SECONDS
    while daemon.ask("GET", "/readyz")[0] != 200 and time.monotonic() < until:
        time.sleep(0.02)
    for job in plan["jobs"]:
        seen[f"/v1/jobs/{job}"] = daemon.ask("GET", f"/v1/jobs/{job}")
        for tail in [f"weights{f}" for f in FORMATS] + ["predictions", "predictions?format=csv", "events?follow=0", "curve"]:
            seen[f"/v1/jobs/{job}/{tail}"] = daemon.ask("GET", f"/v1/jobs/{job}/{tail}")
        width = plan["widths"][job]
        seen[f"/v1/jobs/{job}/predict"] = daemon.ask("POST", f"/v1/jobs/{job}/predict", {"x": [[0.5] * width]})
    code, body = daemon.ask("GET", "/v1/jobs?limit=100")
    shown = sorted(job["id"] for job in json.loads(body)["data"]) if code == 200 else body.decode()
    seen["/v1/jobs"] = code, json.dumps(shown).encode()
    for path in ("/v1/datasets", "/v1/datasets/table", "/v1/datasets/parts", "/v1/datasets/start", "/v1/models"):
        seen[path] = daemon.ask("GET", path)
    for name, spec in plan["specs"].items():
        seen[f"train {name}"] = train(daemon, spec)
    return seen


def curve_cut(before, after, asked):
    """Whether a curve has only lost points, and the job's events say that their log was damaged."""
    said = after[asked.replace("/curve", "/events?follow=0")][1]
    if b"damaged" not in said:
        return False
    whole, rest = json.loads(before[asked][1]), json.loads(after[asked][1])
    losses = dict(zip(whole["epoch"], whole["loss"]))
    return all(losses.get(epoch) == loss for epoch, loss in zip(rest["epoch"], rest["loss"]))


def judge(before, after):
    """The outcome of the answers alone, and the first that differs."""
    outcome, why = "harmless", ""
    for asked, (code, body) in before.items():
        now, text = after[asked]
        if (now, text) == (code, body):
            continue
        damaged = now == 500 or b"damaged" in text
        # a list leaves out, with a word in the log, what cannot be read
        listed = asked in ("/v1/datasets", "/v1/models") and len(text) < len(body)
        cut = asked.endswith("/curve") and now == 200 and curve_cut(before, after, asked)
        if not damaged and not listed and not cut:
            return "WRONG", f"{asked}: {code} -> {now} {text[:200]!r}"
        outcome, why = "noticed", why or f"{asked}: {now} {text[:160]!r}"
    return outcome, why


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def flip(path, chance):
    with open(path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        bit = int(chance.random() * 8 * size)  # sizes differ by the digits of times
        file.seek(bit // 8)
        byte = file.read(1)[0] ^ 1 << bit % 8
        file.seek(bit // 8)
        file.write(bytes([byte]))
    return bit


def lost(folder, files):
    """The files that were there and are nowhere now: a file that was set aside is not lost."""
    there = {os.path.relpath(os.path.join(root, name), folder) for root, _, names in os.walk(folder) for name in names}
    aside = "\n".join(path for path in there if path.startswith("lost+found"))
    return [path for path in files if path not in there and os.path.basename(os.path.dirname(path)) not in aside]


def one_flip(options, plan, before, path, chance):
    folder = os.path.join(options.scratch, "flipped")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(options.data, folder)
    files = [path for paths in files_of(folder).values() for path in paths]
    bit = flip(os.path.join(folder, path), chance)
    flipped = digest(os.path.join(folder, path))
    daemon = Daemon(options.program, folder, os.path.join(options.scratch, "flip.log"))
    try:
        if not daemon.listens():
            said = daemon.said().strip().splitlines()
            reason = said[-1] if said else ""
            named = os.path.basename(path) in reason or "store" in reason or "job_" in reason
            return ("refused" if named else "DOWN"), bit, reason[:200]
        outcome, why = judge(before, observe(daemon, plan))
        stopped = daemon.stop()
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return "DOWN", bit, repr(error)
    finally:
        if daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait()
    if not stopped:
        return "DOWN", bit, "ended with another status than 0"
    gone = [f for f in lost(folder, files) if not f.endswith(("-wal", "-shm"))]
    if gone:
        return "LOST", bit, ", ".join(gone)
    warned = [line for line in daemon.said().splitlines() if '"level":"info"' not in line and
              ("damaged" in line or "the store" in line or "/" + os.path.basename(path) in line)]
    # what the log of the store has lost is missing in answers; the daemon says that it may be
    if outcome == "harmless" and warned or outcome == "WRONG" and any("write-ahead log" in line for line in warned):
        outcome, why = "noticed", warned[0]
    rewritten = path == "lock" or path.startswith("epochd.sqlite")  # at every start
    if outcome == "harmless" and not rewritten and digest(os.path.join(folder, path)) != flipped:
        outcome = "mended"
    return outcome, bit, why


def plan_make(daemon):
    jobs = sorted(job["id"] for job in json.loads(daemon.ask("GET", "/v1/jobs?limit=100")[1])["data"])
    plan = {"jobs": jobs, "widths": {}, "specs": {}}
    for job in jobs:
        spec = json.loads(daemon.ask("GET", f"/v1/jobs/{job}")[1])["spec"]
        data = {key: value for key, value in spec["data"].items() if key not in ("sha256", "rows")}
        width = {"table": 1, "parts": 3}.get(data.get("dataset"), 2)
        plan["widths"][job] = width
    net = {"layers": [{"type": "linear", "out_features": 3}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]}
    base = {"loss": "mse", "epochs": 2, "seed": 5, "device": "cpu"}
    table = {"dataset": "table", "target": "b"}
    plan["specs"] = {"table": dict(base, data=table, model=net), "parts": dict(base, data={"dataset": "parts"}, model=net),
                     "start": dict(base, data=table, model=dict(net, init={"weights": "start"}))}
    first = [job for job in jobs if plan["widths"][job] == 1][0]
    plan["specs"]["init"] = dict(base, data=table, model=dict(net, init={"job": first}))
    return plan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("scratch")
    parser.add_argument("--flips", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--only", help="a kind of file, as the table has it")
    options = parser.parse_args()

    daemon = Daemon(options.program, options.data, os.path.join(options.scratch, "before.log"))
    assert daemon.listens(), daemon.said()
    plan = plan_make(daemon)
    before = observe(daemon, plan)
    again = observe(daemon, plan)
    assert judge(before, again) == ("harmless", ""), judge(before, again)  # or nothing could be told apart
    # killed, so that what SQLite has not yet moved from its log is there to be damaged
    daemon.process.kill()
    daemon.process.wait()
    for process in subprocess.run(["pgrep", "-P", str(daemon.process.pid)], capture_output=True, text=True).stdout.split():
        os.kill(int(process), signal.SIGKILL)

    chance = random.Random(options.seed)
    kinds = files_of(options.data)
    names = [options.only] if options.only else sorted(kinds)
    table, shown = {}, []
    for number in range(options.flips):
        kind = names[number % len(names)]
        path = chance.choice([path for path in kinds[kind] if os.path.getsize(os.path.join(options.data, path)) > 0])
        outcome, bit, why = one_flip(options, plan, before, path, random.Random(chance.random()))
        counts = table.setdefault(kind, {})
        counts[outcome] = counts.get(outcome, 0) + 1
        if options.only:
            print(f"{outcome}: {path}, bit {bit}: {why}", flush=True)
        if outcome in ("WRONG", "LOST", "DOWN"):
            shown.append(f"{outcome}: flip {number}, {path}, bit {bit}: {why}")
            print(shown[-1], flush=True)

    outcomes = ["harmless", "mended", "noticed", "refused", "WRONG", "LOST", "DOWN"]
    print(f"\n{options.flips} flips, seed {options.seed}\n")
    print("| file | " + " | ".join(outcomes) + " |")
    print("|---" * (len(outcomes) + 1) + "|")
    for kind in names:
        print(f"| {kind} | " + " | ".join(str(table.get(kind, {}).get(outcome, 0)) for outcome in outcomes) + " |")
    sums = [sum(counts.get(outcome, 0) for counts in table.values()) for outcome in outcomes]
    print("| all | " + " | ".join(map(str, sums)) + " |")
    summary(options.flips, len(shown), **dict(zip(outcomes, sums)))
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main())
