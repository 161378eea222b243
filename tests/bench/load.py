"""load.py BEFORE AFTER [ROW…]: two builds under load, by turns; see tests/bench/load."""

import argparse
import datetime
import hashlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import threading
import time

from daemon import Daemon, cpu_seconds

PROGRAM = os.path.join(os.environ["EPOCHD_BENCH_PROGRAMS"], "bench_load")
SECONDS = 4  # of GETs
SUBMITTERS = 16
WATCHERS = 10000
WATCHED_LINES = 20
CURVE_LINES = 3000000
REPORTING_JOBS = 16
REPORT_SECONDS = 6
XOR = {"data": {"generator": "xor"}, "loss": "bce_with_logits", "epochs": 10, "optimizer": {"lr": 0.5},
       "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                            {"type": "linear", "out_features": 1}]}}


def program(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench_load {arguments}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout else None


def submit(daemon, **more):
    return daemon.request("POST", "/v1/jobs", json.dumps(dict(XOR, **more)), {"Content-Type": "application/json"})["id"]


def ended(daemon, identity):
    while True:
        job = daemon.request("GET", f"/v1/jobs/{identity}?wait=30")
        if job["status"] in ("succeeded", "failed", "cancelled"):
            return job


def started(prefix, *flags):
    daemon = Daemon(prefix, flags=flags)
    daemon.wait_for("cpu")
    return daemon, daemon.connection.port


def asks(prefix, seed):
    """GETs a second of one connection, alone and beside submitters."""
    out = {}
    for submitters in (0, SUBMITTERS):
        daemon, port = started(prefix)
        job = submit(daemon)
        ended(daemon, job)
        for name, path in (("job", f"/v1/jobs/{job}"), ("list", "/v1/jobs?view=summary&limit=20"), ("livez", "/livez")):
            said = program("ask", port, path, SECONDS, submitters, seed)
            key = f"{name}, {submitters} submitters"
            out[f"{key}: GET/s"] = said["gets_per_second"]
            out[f"{key}: p99 ms"] = said["p99_ms"]
            if submitters:
                out[f"{key}: submits/s"] = said["submits_per_second"]
        daemon.process.kill()  # thousands of jobs are queued
        daemon.process.wait()
    return out


def watchers(prefix, seed):
    """Lines of one job, two a second, at many watchers. The training gives way to all others."""
    daemon, port = started(prefix)
    micro = ended(daemon, submit(daemon, epochs=300000, report_every=300000))["timing"]["epoch_microseconds"]
    job = submit(daemon, epochs=900000000, report_every=int(0.5e6 / micro), seed=seed)
    for name, process in daemon.processes().items():
        if name != "epochd":
            os.setpriority(os.PRIO_PROCESS, process, 19)
    watching = subprocess.Popen([PROGRAM, "watch", str(port), job, str(WATCHERS), str(WATCHED_LINES)], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if watching.stderr.readline() != "watching\n":
        raise SystemExit(f"bench_load: {watching.stderr.read()}")
    before = cpu_seconds(daemon.process.pid)
    said = json.loads(watching.communicate()[0])
    spent = cpu_seconds(daemon.process.pid) - before
    if said["gaps"] or said["delivered"] != WATCHERS * WATCHED_LINES:
        raise SystemExit(f"wrong: lines were lost: {said}")
    daemon.request("POST", f"/v1/jobs/{job}/cancel", "")
    ended(daemon, job)
    daemon.stop()
    return {"lines delivered": said["delivered"], "p50 ms": said["p50_ms"], "p99 ms": said["p99_ms"],
            "epochd's CPU ms a line": spent / WATCHED_LINES * 1e3}


def curve(prefix, seed):
    """The curve of a long log, asked for again and again; then by a client that hangs up."""
    daemon, port = started(prefix)
    jobs = [submit(daemon, seed=seed + i) for i in range(2)]
    for job in jobs:
        ended(daemon, job)
        log = os.path.join(daemon.folder, "data", "jobs", job, "events.ndjson")
        program("log", log, job, CURVE_LINES, seed)
    out = {}
    for turn in ("first", "second", "third"):
        cpu, begun = cpu_seconds(daemon.process.pid), time.perf_counter()
        daemon.connection.request("GET", f"/v1/jobs/{jobs[0]}/curve?max_points=1000")
        body = daemon.connection.getresponse().read()
        out[f"{turn}: ms"] = (time.perf_counter() - begun) * 1e3
        out[f"{turn}: epochd's CPU ms"] = (cpu_seconds(daemon.process.pid) - cpu) * 1e3
        figures = json.loads(body.replace(jobs[0].encode(), b""))
        out["points"], out["sha256"] = figures["points"], hashlib.sha256(json.dumps(figures).encode()).hexdigest()[:12]
    cpu = cpu_seconds(daemon.process.pid)
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(f"GET /v1/jobs/{jobs[1]}/curve?max_points=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    time.sleep(0.2)
    client.close()
    spent = -1
    while cpu_seconds(daemon.process.pid) > spent:
        spent = cpu_seconds(daemon.process.pid)
        time.sleep(0.5)
    out["abandoned after 200 ms: epochd's CPU ms"] = (spent - cpu) * 1e3
    daemon.stop()
    return out


def reports(prefix, seed):
    """Jobs that report at once, each 50 times a second: how late their lines come behind their time."""
    daemon, port = started(prefix, "--cpu-jobs", str(REPORTING_JOBS))
    micro = ended(daemon, submit(daemon, epochs=300000, report_every=300000))["timing"]["epoch_microseconds"]
    jobs = [submit(daemon, epochs=900000000, report_every=int(0.02e6 / micro), seed=seed + i)
            for i in range(REPORTING_JOBS)]
    while any(daemon.job(job)["status"] != "running" for job in jobs):
        time.sleep(0.1)
    late = []

    def watch(job, until):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", f"/v1/jobs/{job}/events?after={10 ** 9}")  # from here on
        response = connection.getresponse()
        while time.time() < until:
            line = response.readline().lstrip()
            if line.startswith(b"{"):
                at = datetime.datetime.fromisoformat(json.loads(line)["time"].replace("Z", "+00:00"))
                late.append(time.time() - at.timestamp())
        connection.close()

    threads = [threading.Thread(target=watch, args=(job, time.time() + REPORT_SECONDS)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    daemon.process.kill()  # they never end
    daemon.process.wait()
    late.sort()
    return {"lines/s": len(late) / REPORT_SECONDS, "late, p50 ms": late[len(late) // 2] * 1e3,
            "late, p99 ms": late[len(late) * 99 // 100] * 1e3}


ROWS = {"asks": asks, "watchers": watchers, "curve": curve, "reports": reports}


def main():
    parser = argparse.ArgumentParser(description="two builds under load; see tests/bench/load")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_intermixed_args()
    out = {}
    for row in options.rows or ROWS:
        figures = ([], [])
        for turn in range(options.rounds):
            for i in (0, 1) if turn % 2 == 0 else (1, 0):
                figures[i].append(ROWS[row]((options.before, options.after)[i], options.seed + turn))
        out[row] = {"before": figures[0], "after": figures[1]}
        print(f"{row:52} {'before':>12} {'after':>12} {'ratio':>8}")
        for key in figures[0][0]:
            values = [[each[key] for each in side] for side in figures]
            if isinstance(values[0][0], str):
                print(f"  {key:50} {values[0][0]:>12} {values[1][0]:>12} {'same' if values[0] == values[1] else 'OTHER':>8}")
                continue
            before, after = map(statistics.median, values)
            print(f"  {key:50} {before:12.1f} {after:12.1f} {after / before if before else 0:8.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(out, file, indent=1)


if __name__ == "__main__":
    main()
