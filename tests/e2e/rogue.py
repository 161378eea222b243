#!/usr/bin/env python3
"""rogue.py SHARED DATA: workers that are none, and ones that lie, against a gateway that waits for workers.

SHARED is the folder in which the gateway writes connection files, DATA the daemon's data folder, in which
nothing may change. One job waits for a worker.
"""

import hashlib
import json
import os
import socket
import ssl
import struct
import sys
import time

HELLO, WELCOME, GONE, REFUSED, FRAME, TAKEN, FILE, DATA, FILE_END, NAMES, FOLDER, HAVE = range(1, 13)
SECONDS = 60


def connect(address):
    host, port = address.rsplit(":", 1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the gateway is not what is tested here
    return context.wrap_socket(socket.create_connection((host, int(port)), SECONDS))


def record(kind, payload=b"", number=0):
    return struct.pack("<IIQ", len(payload), kind, number) + payload


def hello(worker, secret, version="0.1.0", job="", attempt=0, magic=b"EPRELAY2"):
    return record(HELLO, struct.pack("<8s32s40s72s64s32s40siiQQ", magic, version.encode(), worker.encode(),
                                     secret.encode(), b"rogue", b"1_0", job.encode(), attempt, 1, 1, 0))


def file_record(name, size, start=0):
    return record(FILE, struct.pack("<256sqq", name, start, size))


def receive(connection):
    """The next record; (0, b"") at the end."""
    def exactly(count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise ConnectionError
            data += more
        return data
    try:
        size, kind, _ = struct.unpack("<IIQ", exactly(16))
        return kind, exactly(size)
    except (ConnectionError, ssl.SSLError):  # what lasts too long is no refusal
        return 0, b""


def refused(what, address, data, pattern):
    """The gateway must refuse, with a text that has the pattern, or end the connection."""
    with connect(address) as connection:
        connection.sendall(data)
        kind, text = receive(connection)
    if pattern is None:
        assert kind == 0, f"{what}: answered {kind} {text}"
    else:
        assert kind == REFUSED and pattern in text.decode(), f"{what}: answered {kind} {text}"
    print(f"ok: {what}")


def contents(folder):
    """A hash of each file of jobs and datasets."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if "/jobs/" in path or "/datasets/" in path:
                with open(path, "rb") as file:
                    found[path] = hashlib.sha256(file.read()).hexdigest()
    return found


def settings_of(path):
    with open(path, encoding="ascii") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file)


def next_file(shared, seen):
    """The connection file of a worker that nobody was yet, once there is one."""
    folder, until = os.path.join(shared, "workers"), time.monotonic() + SECONDS
    while time.monotonic() < until:
        new = [name for name in os.listdir(folder) if name not in seen]
        if new:
            seen.add(new[0])
            return settings_of(os.path.join(folder, new[0]))
        time.sleep(0.05)
    raise AssertionError("no further worker was submitted")


def frame(kind, payload):
    return record(FRAME, struct.pack("<II", len(payload), kind) + payload, number=0)


def reply(kind, **members):
    body = {"reply": kind, "request": 0, "job": "", "attempt": 0,
            "error": {"status": "ok", "pointer": "", "message": ""}, **members}
    return frame(2, json.dumps(body, separators=(",", ":")).encode())


READY = reply("ready", device={"name": "rogue", "id": "cpu", "instruction_set": "", "driver": "",
                               "memory_bytes": 1, "memory_free_bytes": 1, "threads": 1})


def worker_be(settings):
    """Connects as the worker, and waits until it is given a job."""
    connection = connect(settings["EPOCHD_ADDRESS"])
    connection.sendall(hello(settings["EPOCHD_WORKER"], settings["EPOCHD_SECRET"]))
    kind, text = receive(connection)
    assert kind == WELCOME, (kind, text)
    connection.sendall(READY)
    while kind != FRAME:
        kind, text = receive(connection)
        assert kind not in (0, REFUSED), (kind, text)
    return connection, struct.unpack("<72sQii", text)[0] if kind == WELCOME else text[8:]


def lie(what, settings, data, pattern):
    connection, _ = worker_be(settings)
    with connection:
        connection.sendall(data)
        kind, text = receive(connection)
        while kind in (TAKEN, FRAME, FILE, DATA, FILE_END, FOLDER):
            kind, text = receive(connection)
    assert kind == REFUSED and pattern in text.decode(), f"{what}: answered {kind} {text}"
    print(f"ok: {what}")


def strangers(settings):
    address, worker, secret = (settings[name] for name in ("EPOCHD_ADDRESS", "EPOCHD_WORKER", "EPOCHD_SECRET"))
    refused("a wrong secret", address, hello(worker, "0" * 64), "secret")
    refused("a worker that nobody submitted", address, hello("wrk_0", secret), "does not expect")
    refused("another version", address, hello(worker, secret, version="0.0.1"), "version")
    refused("another protocol", address, hello(worker, secret, magic=b"EPRELAY9"), None)
    refused("a secret that is no text", address, hello(worker, "\n" * 64), None)
    refused("no greeting", address, record(FRAME, b"\0" * 16), None)
    refused("a record of 16 MB before the greeting", address, struct.pack("<IIQ", 1 << 24, FRAME, 0), None)
    refused("a record of an unknown kind", address, record(99), None)
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), SECONDS) as plain:
        plain.sendall(hello(worker, secret))
        try:
            answer = plain.recv(65536)
        except ConnectionResetError:
            answer = b""
        assert len(answer) < 16, f"a connection without TLS is answered: {answer}"
    print("ok: without TLS there is no answer but an alert")


def replay(settings):
    """The first connection with a secret is good, and no second one is."""
    address, worker, secret = (settings[name] for name in ("EPOCHD_ADDRESS", "EPOCHD_WORKER", "EPOCHD_SECRET"))
    connection, _ = worker_be(settings)
    with connection:
        refused("a secret that was used", address, hello(worker, secret), "used before")
        connection.sendall(frame(1, b"{}"))
        kind, text = receive(connection)
        while kind not in (0, REFUSED):
            kind, text = receive(connection)
    assert kind == REFUSED and "commands" in text.decode(), (kind, text)
    print("ok: a worker that sends commands")


def main():
    shared, data = sys.argv[1:]
    seen, before = set(), contents(data)
    first = next_file(shared, seen)
    strangers(first)
    replay(first)
    lie("a file that is no result", next_file(shared, seen), file_record(b"spec.json", 1), "not its job's")
    lie("a file of another job", next_file(shared, seen), file_record(b"jobs/job_1/weights.safetensors", 1),
        "not its job's")
    lie("a file elsewhere", next_file(shared, seen), file_record(b"../../epochd.sqlite", 1), "malformed")
    lie("a file that is not what was announced", next_file(shared, seen),
        file_record(b"weights.safetensors", 1) + record(DATA, b"x") + record(FILE_END, b"0" * 64), "differs from the file")
    lie("bytes of no file", next_file(shared, seen), record(DATA, b"x"), "no file")
    # What it says of a job that it does not have is not heard; the end of its own words is.
    other = {"job": "job_" + "0" * 26, "attempt": 1, "step": 1, "epoch": 1, "bytes": 1}
    lie("a report of a job that it does not have", next_file(shared, seen),
        reply("checkpointed", **other) + record(DATA, b"x"), "no file")
    assert contents(data) == before, "a stranger has changed a file"
    print("ok: no file has changed")


if __name__ == "__main__":
    main()
