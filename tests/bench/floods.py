"""floods.py PREFIX: a daemon in a small control group under a flood of requests; see tests/bench/floods."""

import argparse
import gzip
import http.client
import json
import multiprocessing
import os
import random
import sys
import threading
import time

import appetite
from daemon import Daemon

COLUMNS = 65536
PROCESSES = 4
SETTLE_SECONDS = 10
LINEAR = {"type": "linear", "out_features": 1}
WIDE = {"data": {"dataset": "wide", "target": "column0"}, "model": {"layers": [LINEAR]}, "loss": "mse", "epochs": 1}
LARGE = {"data": {"generator": "disc", "rows": 10}, "loss": "mse", "epochs": 1,
         "model": {"layers": [{"type": "linear", "out_features": 1024}, {"type": "linear", "out_features": 1024}, LINEAR]}}
SWEEP = {"job": {"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 20, "model": {"layers": [
    {"type": "linear", "out_features": 4}, {"type": "tanh"}, LINEAR]}},
    "space": {"/optimizer/lr": {"log_uniform": [0.01, 1]}}, "search": "random", "max_trials": 4,
         "metric": "train.loss"}


class Group:
    """A control group of memory, v1 or v2. What is started within `with` belongs to it."""

    def __init__(self, limit_bytes):
        self.folder = None
        for parent, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            folder = f"{parent}/epochd-floods-{os.getpid()}"
            try:
                os.mkdir(folder)
            except OSError:
                continue
            try:
                self.parent, self.first = parent, parent.endswith("memory")
                with open(f"{folder}/{limit}", "w") as file:
                    file.write(str(limit_bytes))
                self.folder = folder
                return
            except OSError:
                os.rmdir(folder)

    def __enter__(self):
        self.enter(self.folder)

    def __exit__(self, *failure):
        self.enter(self.parent)

    @staticmethod
    def enter(folder):
        with open(f"{folder}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))

    def number(self, file, key):
        for line in open(f"{self.folder}/{file}"):
            words = line.split()
            if words[0] == key:
                return int(words[1])
        return 0

    def kills(self):
        return self.number("memory.oom_control" if self.first else "memory.events", "oom_kill")

    def most_mib(self):
        try:
            name = "memory.max_usage_in_bytes" if self.first else "memory.peak"
            return int(open(f"{self.folder}/{name}").read()) / 2**20
        except OSError:
            return float("nan")

    def remove(self):
        for _ in range(100):
            try:
                os.rmdir(self.folder)
                return
            except OSError:
                time.sleep(0.1)


def wide_table(rows):
    lines = [",".join(f"column{i}" for i in range(COLUMNS))]
    lines += [",".join(str((i * 7 + row) % 9) for i in range(COLUMNS)) for row in range(rows)]
    return ("\n".join(lines) + "\n").encode()


class Client:
    """One of many: whatever it asks for next is drawn."""

    def __init__(self, daemon, seed, known):
        self.daemon, self.draw, self.seed = daemon, random.Random(seed), seed
        self.jobs, self.sweeps, self.held = list(known), [], []

    @property
    def job(self):
        return self.draw.choice(self.jobs[-20:])

    @property
    def sweep(self):
        return self.draw.choice(self.sweeps[-5:] or ["swp_00000000000000000000000000"])

    def ask(self, method, path, body=None, headers=None):
        return self.daemon.ask(method, path, body, timeout=60, headers=headers)

    def unread(self, method, path, body=b""):
        self.held.append(self.daemon.send(method, path, body))
        if len(self.held) > 3:
            self.held.pop(0).close()

    def submit(self, spec, to=None, path="/v1/jobs"):
        status, text = self.ask("POST", path, spec if isinstance(spec, bytes) else json.dumps(spec))
        if status == 201:
            (self.jobs if to is None else to).append(json.loads(text)["id"])

    def leave(self):
        for held in self.held:
            held.close()

    def one(self):
        KINDS[self.draw.randrange(len(KINDS))](self)


DIRECTORY = b"PK\1\2" + bytes(42)
ARCHIVE = (b"PK\3\4" + bytes(26) + DIRECTORY * 100000 + b"PK\5\6" + bytes(4) + b"\xa0\x86" * 2 +
           (4600000).to_bytes(4, "little") + (30).to_bytes(4, "little") + bytes(2))
PACKED = gzip.compress(b'{"a":"' + b"a" * (1 << 20) + b'"}', 9)
ROWS = b'{"x":[' + b",".join([b"[1]"] * 20000) + b"]}"
NAMED = b'{"rows":[' + b",".join([b"{}"] * 500000) + b"]}"
TABLES = {}  # of wide data: made once, before the clients

KINDS = [
    lambda c: c.submit(appetite.spec(epochs=c.draw.randint(1, 3000))),
    lambda c: c.submit(appetite.spec(rows=20000)),
    lambda c: c.submit(WIDE),
    lambda c: c.submit(LARGE),
    lambda c: c.submit(SWEEP, c.sweeps, "/v1/sweeps"),
    lambda c: c.ask("POST", "/v1/jobs?validate=only", json.dumps(WIDE)),
    lambda c: c.ask("POST", "/v1/jobs", appetite.TREE),
    lambda c: c.ask("POST", "/v1/jobs", PACKED, {"Content-Encoding": "gzip"}),
    lambda c: c.ask("PUT", f"/v1/datasets/t{c.seed % 20}", appetite.TABLE),
    lambda c: c.ask("PUT", f"/v1/datasets/w{c.seed % 3}", TABLES[1 + c.seed % 2]),
    lambda c: c.ask("PUT", f"/v1/datasets/h{c.seed % 5}", appetite.HEADER),
    lambda c: c.ask("PUT", f"/v1/datasets/z{c.seed % 5}", ARCHIVE),
    lambda c: c.ask("GET", "/v1/datasets"),
    lambda c: c.ask("GET", "/v1/datasets/wide"),
    lambda c: c.unread("GET", "/v1/datasets/wide"),
    lambda c: c.ask("GET", "/v1/datasets/wide/rows?limit=20"),
    lambda c: c.ask("DELETE", f"/v1/jobs/{c.jobs.pop()}" if len(c.jobs) > 3 else "/v1/jobs/none"),
    lambda c: c.ask("PATCH", f"/v1/jobs/{c.job}", json.dumps({"notes": "n" * 400})),
    lambda c: c.ask("GET", f"/v1/jobs/{c.job}?wait=1"),
    lambda c: c.unread("GET", f"/v1/jobs/{c.job}/events"),
    lambda c: c.unread("GET", "/v1/jobs?limit=1000"),
    lambda c: c.unread("GET", f"/v1/jobs/{c.job}/curve?max_points=100000"),
    lambda c: c.ask("GET", "/v1/compare?max_points=10000&jobs=" + ",".join({c.job, c.job, c.job})),
    lambda c: c.unread("GET", f"/v1/jobs/{c.job}/weights?format=json"),
    lambda c: c.ask("GET", f"/v1/jobs/{c.job}/predictions?format=csv"),
    lambda c: c.ask("GET", f"/v1/jobs/{c.job}/plots"),
    lambda c: c.ask("GET", f"/v1/jobs/{c.job}/plots/loss"),
    lambda c: c.unread("POST", f"/v1/jobs/{c.job}/predict", ROWS),
    lambda c: c.ask("POST", f"/v1/jobs/{c.job}/predict", NAMED),
    lambda c: c.ask("GET", f"/v1/sweeps/{c.sweep}/study"),
    lambda c: c.ask("GET", "/metrics"),
    lambda c: c.ask("GET", c.draw.choice(["/", "/v1/queue", "/v1/devices", "/openapi.json"])),
    lambda c: c.unread("GET", "/x HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\nGET /"),
]


def client_run(daemon, seed, known, end):
    client = Client(daemon, seed, known)
    while time.time() < end:
        try:
            client.one()
        except (OSError, http.client.HTTPException):
            time.sleep(0.02)
    client.leave()


def process_run(daemon, seeds, known, end):
    threads = [threading.Thread(target=client_run, args=(daemon, seed, known, end), daemon=True) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90 + max(0, end - time.time()))


def flood(daemon, options, known):
    end = time.time() + options.minutes * 60
    seeds = [options.seed * 100000 + i for i in range(options.clients)]
    processes = [multiprocessing.Process(target=process_run, args=(daemon, seeds[i::PROCESSES], known, end))
                 for i in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def prepare(daemon):
    """What the clients ask for: wide data, and two jobs that have ended. And a request of each kind."""
    for rows in (1, 2, 4):
        TABLES[rows] = wide_table(rows)
    status, text = daemon.ask("PUT", "/v1/datasets/wide", TABLES[4])
    if status != 201:
        print(f"  the wide table: {status} {text[:200]}")
    known = [appetite.job_submit(daemon, appetite.spec(report_every=1, epochs=20000)),
             appetite.job_submit(daemon, json.dumps(LARGE))]
    for job in known:
        appetite.wait_ended(daemon, job)
    # Each kind once: code is loaded, and threads have touched their stacks.
    client = Client(daemon, 0, known)
    for kind in KINDS:
        try:
            kind(client)
        except OSError:
            pass
    client.leave()
    jobs_clear(daemon)
    return known


def jobs_clear(daemon):
    """Cancels what still runs: its memory is not that of requests."""
    for kind in ("jobs", "sweeps"):
        while True:
            page = json.loads(daemon.ask("GET", f"/v1/{kind}?status=queued,running&view=summary&limit=1000")[1])
            live = [item["id"] for item in page.get("data", [])]
            for identity in live:
                daemon.ask("POST", f"/v1/{kind}/{identity}/cancel", b"{}")
            if not live:
                break
            time.sleep(0.2)


def restarts(daemon):
    text = daemon.ask("GET", "/metrics")[1].decode()
    return sum(float(line.split()[1]) for line in text.splitlines() if line.startswith("epochd_worker_restarts_total"))


def main():
    parser = argparse.ArgumentParser(description="a flood of requests in a small control group; see tests/bench/floods")
    parser.add_argument("prefix")
    parser.add_argument("--memory-mib", type=int, default=512)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    group = Group(options.memory_mib << 20)
    if not group.folder:
        print("skipped: no control group of memory can be made here")
        return 77
    with group:
        started = Daemon(options.prefix)
    daemon = appetite.Daemon(f"http://127.0.0.1:{started.connection.port}", started.process.pid)
    try:
        known = prepare(daemon)
        time.sleep(SETTLE_SECONDS)
        idle = daemon.memory_mib()
        probe = appetite.Probe(daemon)
        flood(daemon, options, known)
        probe.end()
        ended = time.monotonic()
        alive = started.process.poll() is None
        kills = group.kills()
        print(f"{options.memory_mib} MiB, {options.clients} clients, {options.minutes:g} min, seed {options.seed}, "
              f"{len(KINDS)} kinds, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("  answers: " + ", ".join(f"{count} x {status}" for status, count in enumerate(appetite.STATUSES) if count))
        if not alive:
            print(f"  epochd is gone ({started.process.returncode}); {kills} kills in the group")
            return 1
        print(f"  epochd alive; {kills} kills in the group; workers restarted {restarts(daemon):.0f} times; the group took at "
              f"most {group.most_mib():.0f} MiB with its page cache")
        print(f"  /livez: {probe.probes} probes, p99 {probe.p99 * 1000:.1f} ms (an echo beside it: "
              f"{probe.echo_p99 * 1000:.1f} ms), {probe.faults} faults")
        jobs_clear(daemon)
        time.sleep(max(0, SETTLE_SECONDS - (time.monotonic() - ended)))
        after = daemon.memory_mib()
        print(f"  resident memory of epochd: {idle:.1f} MiB idle, {probe.most:.1f} at most, {after:.1f} after "
              f"{time.monotonic() - ended:.0f} s ({100 * after / idle - 100:+.0f} %)")
        return 1 if kills else 0
    finally:
        started.process.kill()
        started.process.wait()
        group.remove()


if __name__ == "__main__":
    sys.exit(main())
