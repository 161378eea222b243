#!/usr/bin/env python3
"""appetite.py: asks a daemon for more memory than it has, in every way that is known.

    appetite.py URL PID [--seconds S] [--most-mib M] [--attack NAME]

Each attack goes on for S seconds beside a probe, which measures /livez, the daemon's memory, and an echo that
nothing but the machine delays, and every response that is read is counted by its status. Ends with 1 if the daemon's
memory passed M MiB, if 99 of 100 probes were not answered within 100 ms more than the echo took, if a response was a
fault of the daemon's own (500 and above, but 503), or if it does not serve afterwards.
"""
import argparse
import gzip
import http.client
import json
import multiprocessing
import random
import socket
import struct
import sys
import threading
import time
import urllib.parse

P99_SECONDS = 0.1

# How many responses had each status, of all processes.
STATUSES = multiprocessing.Array("Q", 600)


class Daemon:
    def __init__(self, url, pid):
        self.at, self.pid = urllib.parse.urlsplit(url), pid

    def ask(self, method, path, body=None, timeout=60, headers=None):
        connection = http.client.HTTPConnection(self.at.hostname, self.at.port, timeout=timeout)
        try:
            headers = {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            with STATUSES.get_lock():
                STATUSES[response.status] += 1
            return response.status, response.read()
        finally:
            connection.close()

    def send(self, method, path, body=b"", buffer=4096):
        """A request whose response nobody reads."""
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.settimeout(5)
        client.connect((self.at.hostname, self.at.port))
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        try:
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        except OSError:
            pass  # refused in the middle, or slow
        return client

    def memory_mib(self):
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def echo_serve(listener):
    """Answers each connection with what it sent: nothing but the system is in the way."""
    while True:
        client, _ = listener.accept()
        client.sendall(client.recv(64))
        client.close()


def echo_ask(port):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"?")
        client.recv(64)


def timed(call):
    """How long it took, and whether it failed."""
    begin = time.monotonic()
    try:
        failed = call() is False
    except OSError:
        failed = True
    return time.monotonic() - begin, failed


def p99(times):
    times = sorted(times)
    return times[min(len(times) - 1, len(times) * 99 // 100)]


def probe_run(daemon, port, stopping, results):
    """Asks for /livez every 20 ms, on connections of its own, and an echo beside it."""
    times, echoes, faults, most = [], [], 0, 0
    while not stopping.is_set():
        seconds, failed = timed(lambda: daemon.ask("GET", "/livez")[0] == 200)
        times.append(seconds)
        faults += failed
        echoes.append(timed(lambda: echo_ask(port))[0])
        try:
            most = max(most, daemon.memory_mib())
        except OSError:
            faults += 1
        time.sleep(0.02)
    results.send((len(times), p99(times), p99(echoes), faults, most))


class Probe:
    """What others see of the daemon meanwhile, from a process that shares no interpreter with the attack. An echo
    from another such process shows how much of a delay is the machine's."""

    def __init__(self, daemon):
        listener = socket.create_server(("127.0.0.1", 0))
        self.stopping = multiprocessing.Event()
        self.results, theirs = multiprocessing.Pipe(duplex=False)
        self.echo = multiprocessing.Process(target=echo_serve, args=(listener,), daemon=True)
        self.probe = multiprocessing.Process(
            target=probe_run, args=(daemon, listener.getsockname()[1], self.stopping, theirs), daemon=True)
        self.echo.start()
        self.probe.start()
        listener.close()

    def end(self):
        self.stopping.set()
        self.probes, self.p99, self.echo_p99, self.faults, self.most = self.results.recv()
        self.probe.join()
        self.echo.terminate()
        self.echo.join()


def in_parallel(count, call, seconds):
    """Calls `call(i)` from so many threads again and again."""
    end = time.monotonic() + seconds

    def loop(i):
        while time.monotonic() < end:
            try:
                call(i)
            except OSError:
                time.sleep(0.05)

    threads = [threading.Thread(target=loop, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def unread(daemon, seconds, method, path, body=b"", count=60):
    end = time.monotonic() + seconds
    clients = []

    def one(i):
        client = daemon.send(method, path, body)
        clients.append(client)
        time.sleep(max(0, end - time.monotonic()))

    in_parallel(count, one, seconds)
    for client in clients:
        client.close()


def spec(rows=1, **more):
    x = ",".join(f"[{i % 10}.12345678]" for i in range(rows))
    y = ",".join(f"{i % 10}.12345678" for i in range(rows))
    text = json.dumps({"model": {"layers": [{"type": "linear", "out_features": 1}]}, "loss": {"type": "mse"},
                       "epochs": 1, **more})
    return (text[:-1] + f',"data":{{"inline":{{"x":[{x}],"y":[{y}]}}}}}}').encode()


def wait_ended(daemon, job):
    while True:
        state = json.loads(daemon.ask("GET", f"/v1/jobs/{job}")[1]).get("status")
        if state in ("succeeded", "failed", "cancelled"):
            return state
        time.sleep(0.1)


def job_submit(daemon, body):
    while True:
        status, text = daemon.ask("POST", "/v1/jobs", body)
        if status == 201:
            return json.loads(text)["id"]
        if status not in (429, 503):
            raise SystemExit(f"a job was refused: {status} {text[:300]}")
        time.sleep(0.1)


def heavy_lists(daemon, seconds):
    for _ in range(12):
        job_submit(daemon, spec(rows=40000))
    unread(daemon, seconds, "GET", "/v1/jobs?limit=1000")


def heavy_trees(daemon, seconds):
    body = b"[" + b"{}," * 349000 + b"{}]"
    in_parallel(40, lambda i: daemon.ask("POST", "/v1/jobs", body), seconds)


def heavy_rows(daemon, seconds):
    body = b'{"data":{"normalize":{"mean":[' + b"1," * 500000 + b"1]}}}"
    in_parallel(20, lambda i: daemon.ask("POST", "/v1/jobs", body), seconds)


def heavy_predictions(daemon, seconds):
    job = job_submit(daemon, spec())
    assert wait_ended(daemon, job) == "succeeded"
    body = b'{"x":[' + b",".join([b"[1]"] * 100000) + b"]}"
    unread(daemon, seconds, "POST", f"/v1/jobs/{job}/predict", body)


def named_predictions(daemon, seconds):
    job = job_submit(daemon, spec())
    body = b'{"rows":[' + b",".join([b"{}"] * 2700000) + b"]}"
    in_parallel(20, lambda i: daemon.ask("POST", f"/v1/jobs/{job}/predict", body), seconds)


def heavy_headers(daemon, seconds):
    header = b'{"a":[' + b"{}," * 5000000 + b"{}]}"
    body = gzip.compress(struct.pack("<Q", len(header)) + header, 9)
    in_parallel(4, lambda i: daemon.ask("PUT", f"/v1/datasets/header{i}", body), seconds)


def heavy_directories(daemon, seconds):
    entries = 1000000
    directory = b"PK\1\2" + bytes(42)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, entries & 0xFFFF, entries & 0xFFFF, 46 * entries, 30, 0)
    body = b"PK\3\4" + bytes(26) + directory * entries + end
    in_parallel(2, lambda i: daemon.ask("PUT", f"/v1/datasets/zip{i}", body), seconds)


def abandoned_curves(daemon, seconds):
    """A long log; requests for its curve whose clients go, or never read."""
    job = job_submit(daemon, spec(report_every=1, epochs=300000))
    wait_ended(daemon, job)
    slowest = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        clients = [daemon.send("GET", f"/v1/jobs/{job}/curve?max_points=100000") for _ in range(12)]
        clients += [daemon.send("GET", f"/v1/compare?max_points=10000&jobs={job}") for _ in range(12)]
        for client in clients[::2]:
            client.close()
        begin = time.monotonic()
        status, _ = daemon.ask("GET", "/metrics")
        slowest = max(slowest, time.monotonic() - begin if status == 200 else 99)
        time.sleep(0.2)
        for client in clients:
            client.close()
    print(f"    /metrics was answered within {slowest:.3f} s beside them")
    return slowest < 1


def wide_datasets(daemon, seconds):
    """Data sets of 65,536 columns, listed and described again and again."""
    head = ",".join(f"column{i}" for i in range(65536))
    row = ",".join("1" for i in range(65536))
    for i in range(4):
        rows = "\n".join([row] * (2 + i))
        daemon.ask("PUT", f"/v1/datasets/wide{i}", f"{head}\n{rows}\n".encode())
    paths = ["/v1/datasets", "/v1/datasets/wide0"]
    in_parallel(8, lambda i: daemon.ask("GET", paths[i % 2]), seconds)


def wide_requests(daemon, seconds):
    """32 small requests at once about one dataset of 65,536 columns, again and again. None is a fault."""
    head = ",".join(f"column{i}" for i in range(65536))
    row = ",".join("1" for i in range(65536))
    status, text = daemon.ask("PUT", "/v1/datasets/wide", f"{head}\n{row}\n{row}\n".encode())
    job = json.dumps({"data": {"dataset": "wide", "target": "column0"}, "loss": "mse", "epochs": 1,
                      "model": {"layers": [{"type": "linear", "out_features": 1}]}})
    asks = [("GET", "/v1/datasets/wide", None), ("GET", "/v1/datasets/wide/rows?limit=2", None),
            ("POST", "/v1/jobs?validate=only", job)]
    statuses = set()
    in_parallel(32, lambda i: statuses.add(daemon.ask(*asks[i % 3])[0]), seconds)
    if status not in (200, 201) or not statuses <= {200, 429, 503}:
        print(f"FAILED: {status} {text[:200]}, then {statuses}")
        return False
    return 200 in statuses


TREE = b"[" + b"{}," * 200000 + b"{}]"
HEADER = gzip.compress(struct.pack("<Q", 4000007) + b'{"a":[' + b"{}," * 1333333 + b"{}]}", 1)
TABLE = b"a,b,c\n" + b"1,2,x\n" * 2000
ROWS = b'{"x":[' + b",".join([b"[1]"] * 20000) + b"]}"


def flood_client(daemon, seed, end):
    """One of many clients: whatever it asks for next is drawn by chance, and much of it is bad or is not read."""
    draw, held, jobs = random.Random(seed), [], ["none"]

    def submitted(body):
        status, text = daemon.ask("POST", "/v1/jobs", body, timeout=20)
        if status == 201:
            jobs.append(json.loads(text)["id"])

    def kept(method, path, body=b""):
        held.append(daemon.send(method, path, body))
        if len(held) > 3:
            held.pop(0).close()

    asks = [lambda job: submitted(spec(epochs=draw.randint(1, 3000))),
            lambda job: submitted(spec(rows=draw.choice((10, 20000)), epochs=1)),
            lambda job: daemon.ask("POST", "/v1/jobs", TREE, timeout=20),
            lambda job: daemon.ask("PUT", f"/v1/datasets/t{seed % 20}", TABLE, timeout=20),
            lambda job: daemon.ask("PUT", f"/v1/datasets/h{seed % 5}", HEADER, timeout=20),
            lambda job: daemon.ask("DELETE", f"/v1/jobs/{job}", timeout=20),
            lambda job: daemon.ask("GET", f"/v1/jobs/{job}?wait=1", timeout=20),
            lambda job: daemon.ask("GET", "/metrics", timeout=20),
            lambda job: kept("GET", f"/v1/jobs/{job}/events"),
            lambda job: kept("GET", "/v1/jobs?limit=1000"),
            lambda job: kept("GET", f"/v1/jobs/{job}/curve?max_points=100000"),
            lambda job: kept("POST", f"/v1/jobs/{job}/predict", ROWS),
            lambda job: kept("GET", "/x HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\nGET /")]
    while time.time() < end:
        try:
            draw.choice(asks)(draw.choice(jobs[-20:]))
        except OSError:
            time.sleep(0.02)


def flood_process(daemon, clients, end):
    threads = [threading.Thread(target=flood_client, args=(daemon, seed, end), daemon=True) for seed in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60 + max(0, end - time.time()))


def mixed_flood(daemon, seconds):
    """200 clients in four processes."""
    end = time.time() + seconds
    flood = [multiprocessing.Process(target=flood_process, args=(daemon, range(p * 50, p * 50 + 50), end))
             for p in range(4)]
    for process in flood:
        process.start()
    for process in flood:
        process.join()


ATTACKS = [heavy_lists, heavy_trees, heavy_rows, heavy_predictions, named_predictions, heavy_headers,
           heavy_directories, abandoned_curves, wide_datasets, wide_requests, mixed_flood]


def attack_run(daemon, attack, options):
    before = list(STATUSES)
    probe = Probe(daemon)
    good = attack(daemon, options.seconds) is not False
    probe.end()
    statuses = {status: count - before[status] for status, count in enumerate(STATUSES) if count > before[status]}
    print(f"{attack.__name__:<20} {probe.probes:>5} probes, p99 {probe.p99 * 1000:>6.1f} ms (of an echo "
          f"{probe.echo_p99 * 1000:.1f}), {probe.faults} faults, at most {probe.most:>6.0f} MiB, "
          f"then {daemon.memory_mib():.0f}", flush=True)
    print("    answered: " + ", ".join(f"{count} with {status}" for status, count in statuses.items()), flush=True)
    if any(status >= 500 and status != 503 for status in statuses):
        print("FAILED: a response was a fault of the daemon's own")
        good = False
    if options.most_mib and probe.most > options.most_mib:
        print(f"FAILED: more than {options.most_mib} MiB")
        good = False
    if not options.any_time and probe.p99 - probe.echo_p99 > P99_SECONDS:
        print(f"FAILED: the probe at 99 of 100 took {P99_SECONDS} s longer than the echo")
        good = False
    return good and probe.faults == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("pid", type=int)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--most-mib", type=float, default=0)
    parser.add_argument("--any-time", action="store_true", help="a slow probe is no failure: others use the machine")
    parser.add_argument("--attack", action="append", help="only these")
    options = parser.parse_args()
    daemon = Daemon(options.url, options.pid)
    chosen = [a for a in ATTACKS if not options.attack or a.__name__ in options.attack]
    good = all([attack_run(daemon, attack, options) for attack in chosen])
    job = job_submit(daemon, spec())
    state = wait_ended(daemon, job)
    print(f"afterwards a job {state}")
    return 0 if good and state == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
