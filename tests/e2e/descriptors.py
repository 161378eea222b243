#!/usr/bin/env python3
"""descriptors.py URL: as many watchers of different jobs as the daemon takes; then it still answers."""

import http.client
import json
import socket
import sys
import urllib.parse

JOBS = 1300
SPEC = {"data": {"generator": "xor"}, "loss": "mse", "epochs": 1, "model": {"layers": [{"type": "linear", "out_features": 1}]}}
where = urllib.parse.urlsplit(sys.argv[1])


def ask(method, path, body=None):
    link = http.client.HTTPConnection(where.hostname, where.port, timeout=240)
    link.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
    answer = link.getresponse()
    text = answer.read()
    link.close()
    return answer.status, text


def watch(job):
    client = socket.create_connection((where.hostname, where.port), timeout=240)
    client.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return client, client.recv(12)[9:12]


ask("POST", "/v1/jobs", {**SPEC, "epochs": 900000000, "report_every": 900000000, "device": "cpu"})
jobs = []
for _ in range(JOBS):
    status, text = ask("POST", "/v1/jobs", SPEC)
    assert status == 201, text
    jobs.append(json.loads(text)["id"])
watchers = []
for job in jobs:
    client, status = watch(job)
    if status != b"200":
        assert status == b"503", status
        break
    watchers.append(client)
print(f"{len(watchers)} watchers of as many jobs")
for path in ("/livez", "/readyz", "/v1/devices", "/metrics", f"/v1/jobs/{jobs[-1]}"):
    status, text = ask("GET", path)
    assert status == 200, (path, status, text)
status, text = ask("POST", "/v1/jobs", SPEC)
assert status == 201, text
assert 400 <= len(watchers) < JOBS, len(watchers)
