#!/usr/bin/env python3
"""hostile.py URL DATA_DIR: raw sockets against a daemon, with requests that no client should send. With an https URL:
those alone that a framing reader refuses."""

import os
import select
import socket
import ssl
import sys
import time
import urllib.parse

HEAD_SECONDS = 15  # of server/http/connection.c: by then a new connection's first head must be there
PATIENCE = 240  # seconds for whatever should happen; also in daemon.sh
QUEUE = b'"object":"queue"'
JOB = (b'{"data": {"generator": "xor"}, "loss": "mse", "epochs": 900000000, "report_every": 900000000, '
       b'"model": {"layers": [{"type": "linear", "out_features": 1}]}}')
faults = 0


def check(what, holds, answer=b""):
    global faults
    if not holds:
        faults += 1
        print("FAILED:", what, answer[:300])
    else:
        print("ok:", what)


class Raw:
    def __init__(self, url):
        self.where = urllib.parse.urlsplit(url)

    def dial(self):
        client = socket.create_connection((self.where.hostname, self.where.port), timeout=PATIENCE)
        if self.where.scheme != "https":
            return client
        context = ssl.create_default_context()  # whom the daemon shows is no subject here
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(client)

    def send(self, data, word=None):
        """What comes back on a connection of its own until it is closed, or the word has come; and whether closed."""
        with self.dial() as client:
            try:
                client.sendall(data)
            except (ConnectionError, ssl.SSLEOFError):
                pass  # refused before it was all there
            return hear(client, word)


def hear(client, word=None):
    received = b""
    until = time.monotonic() + PATIENCE
    while (left := until - time.monotonic()) > 0 and not (word and word in received):
        pending = isinstance(client, ssl.SSLSocket) and client.pending() > 0
        if not pending and not select.select([client], [], [], left)[0]:
            break
        try:
            piece = client.recv(65536)
        except (ConnectionError, ssl.SSLError):
            return received, True
        if not piece:
            return received, True
        received += piece
    return received, False


def request(*lines, body=b""):
    return b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\r\n\r\n" + body


INNER = b"GET /v1/queue HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = ("POST /v1/jobs/none/cancel HTTP/1.1", "Host: localhost")
GET = ("GET /livez HTTP/1.1", "Host: localhost")

# name, request. Each must be refused with 400, the connection closed, and INNER never be answered.
SMUGGLED = [
    ("Content-Length and chunked", request(*POST, "Content-Length: 4", "Transfer-Encoding: chunked",
                                           body=b"0\r\n\r\n" + INNER)),
    ("chunked and Content-Length", request(*POST, "Transfer-Encoding: chunked", "Content-Length: 5",
                                           body=b"0\r\n\r\n" + INNER)),
    ("two Content-Lengths", request(*POST, "Content-Length: 0", f"Content-Length: {len(INNER)}", body=INNER)),
    ("two equal Content-Lengths", request(*POST, "Content-Length: 0", "Content-Length: 0", body=INNER)),
    ("a list of Content-Lengths", request(*POST, "Content-Length: 0, 0", body=INNER)),
    ("a signed Content-Length", request(*POST, "Content-Length: +0", body=INNER)),
    ("a negative Content-Length", request(*POST, "Content-Length: -1", body=INNER)),
    ("a hexadecimal Content-Length", request(*POST, "Content-Length: 0x0", body=INNER)),
    ("an empty Content-Length", request(*POST, "Content-Length:", body=INNER)),
    ("an unknown Transfer-Encoding", request(*POST, "Transfer-Encoding: xchunked", body=INNER)),
    ("chunked twice", request(*POST, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked",
                              body=b"0\r\n\r\n" + INNER)),
    ("chunked after another coding", request(*POST, "Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n" + INNER)),
    ("a space before the colon", request(*POST, "Content-Length : 0", body=INNER)),
    ("a tab before the colon", request(*POST, "Transfer-Encoding\t: chunked", body=b"0\r\n\r\n" + INNER)),
    ("a folded header", request(*POST, "X: a", " Content-Length: 0", body=INNER)),
    ("a header without a colon", request(*GET, "Nonsense", body=INNER)),
    ("chunked in HTTP/1.0", request("POST /v1/jobs/none/cancel HTTP/1.0", "Host: localhost",
                                    "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + INNER)),
    ("two Hosts", request(*GET, "Host: localhost", body=INNER)),
    ("two different Hosts", request(*GET, "Host: evil.example", body=INNER)),
    ("no Host", request("GET /livez HTTP/1.1", "Accept: */*", body=INNER)),
    ("an absolute target", request("GET http://evil.example/livez HTTP/1.1", "Host: localhost", body=INNER)),
    ("a space in the target", request("GET /livez /x HTTP/1.1", "Host: localhost", body=INNER)),
    ("a target that is no path", request("GET livez HTTP/1.1", "Host: localhost", body=INNER)),
]


def smuggling(raw):
    answer, _ = raw.send(INNER, QUEUE)
    check("canary: the inner request alone is answered", QUEUE in answer, answer)
    answer, _ = raw.send(request(*POST, "Content-Length: 2", body=b"{}") + INNER, QUEUE)
    check("canary: pipelined after an honest one, too", QUEUE in answer, answer)
    for name, data in SMUGGLED:
        answer, closed = raw.send(data)
        check(f"refused and closed: {name}", closed and QUEUE not in answer and
              (answer.startswith(b"HTTP/1.1 400 ") or answer.startswith(b"HTTP/1.0 400 ") or answer == b""), answer)
    answer, closed = raw.send(request(*POST, "Transfer-Encoding: chunked", body=b"zz\r\n" + INNER))
    check("a broken chunk ends the connection", closed and QUEUE not in answer, answer)


def names(raw):
    for host in ("evil.example", "localhost.evil.example", "localhost:80:80", "127.0.0.1@evil.example", "[::1", ""):
        for path in ("/", "/livez", "/v1/jobs", "/openapi.json", "/nowhere"):
            answer, _ = raw.send(request(f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close"))
            if not answer.startswith(b"HTTP/1.1 403 "):
                check(f"Host {host!r} on {path}", False, answer)
    check("no other name is answered to, on any route", True)
    for line in ("Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site",
                 "Sec-Fetch-Site: same-site"):
        for start in ("GET /v1/jobs HTTP/1.1", "POST /v1/jobs HTTP/1.1", "DELETE /v1/jobs/a HTTP/1.1",
                      "PATCH /v1/jobs/a HTTP/1.1", "GET /v1/compare?jobs=a HTTP/1.1",
                      "PUT /v1/datasets/a HTTP/1.1", "OPTIONS /v1/jobs HTTP/1.1"):
            answer, _ = raw.send(request(start, "Host: localhost", line, "Content-Length: 0", "Connection: close"))
            if not answer.startswith(b"HTTP/1.1 403 ") or b"Access-Control" in answer:
                check(f"{line} on {start}", False, answer)
    check("no other site's page gets an answer", True)


def traversal(raw, data_dir):
    secret = os.path.join(os.path.dirname(data_dir), "secret.csv")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("a,b\n1,2\n")
    before = sorted(os.listdir(os.path.dirname(data_dir)))
    for name in ("..", "%2e%2e", "..%2fsecret.csv", "%2e%2e%2fsecret.csv", "..%5csecret.csv", "%252e%252e", ".hidden",
                 "a%00b", "a%2fb", "a/../../secret.csv", "%c0%ae%c0%ae", "a%0d%0aX:%20y", "x" * 129):
        for method in ("GET", "PUT", "DELETE"):
            answer, _ = raw.send(request(f"{method} /v1/datasets/{name} HTTP/1.1".encode(), "Host: localhost",
                                         "Connection: close", "Content-Length: 8", body=b"a,b\n1,2\n"))
            if answer[9:12] not in (b"404", b"400"):
                check(f"{method} of {name}", False, answer)
        for path in (f"/v1/jobs/{name}", f"/v1/jobs/{name}/weights", f"/v1/jobs/{name}/events"):
            answer, _ = raw.send(request(f"GET {path} HTTP/1.1".encode(), "Host: localhost", "Connection: close"))
            if answer[9:12] not in (b"404", b"400") or b"secret" in answer.split(b"\r\n\r\n", 1)[0]:
                check(f"GET {path}", False, answer)
        answer, _ = raw.send(request(f"PATCH /v1/jobs/{name} HTTP/1.1".encode(), "Host: localhost", "Connection: close",
                                     "Content-Type: application/json", "Content-Length: 2", body=b"{}"))
        if answer[9:12] not in (b"404", b"400"):
            check(f"PATCH of {name}", False, answer)
        answer, _ = raw.send(request(f"GET /v1/compare?jobs={name} HTTP/1.1".encode(), "Host: localhost",
                                     "Connection: close"))
        if answer[9:12] not in (b"404", b"400"):
            check(f"comparing {name}", False, answer)
    check("no path climbs", sorted(os.listdir(os.path.dirname(data_dir))) == before)


def ranges(raw):
    for value in ("bytes=0-18446744073709551615", "bytes=-9223372036854775808", "bytes=" + "0-0," * 1000, "bytes=a-b"):
        answer, _ = raw.send(request("GET /v1/jobs/none/weights HTTP/1.1", "Host: localhost", f"Range: {value}",
                                     "Connection: close"))
        check(f"a strange range is survived: {value[:30]}", answer.startswith(b"HTTP/1.1 404 "), answer)


def large_heads(raw):
    answer, closed = raw.send(request(*GET, "X: " + "a" * 100000))
    check("a huge header is refused", closed and answer[9:12] in (b"431", b"413", b"400", b""), answer)
    answer, closed = raw.send(request("GET /" + "a" * 100000 + " HTTP/1.1", "Host: localhost"))
    check("a huge target is refused", closed and answer[9:12] in (b"414", b"431", b"400", b""), answer)
    answer, closed = raw.send(request(*GET, *(f"X{i}: a" for i in range(200))))
    check("hundreds of headers are refused", closed and answer[9:12] in (b"431", b"400"), answer)


def large(raw):
    large_heads(raw)
    deep = b"[" * 100000
    answer, _ = raw.send(request("POST /v1/jobs HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                                 f"Content-Length: {len(deep)}", "Connection: close", body=deep))
    check("deep nesting is refused", answer[9:12] in (b"400", b"422"), answer)
    body = b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b" " * 65536 + b"\r\n"
    with raw.dial() as client:
        client.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + body)
        for _ in range(40):
            client.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        client.sendall(b"0\r\n\r\n")
        answer, _ = hear(client, b"\r\n\r\n")
    check("a chunked body over the limit is a 413", answer.startswith(b"HTTP/1.1 413 "), answer)


def slow(raw):
    """One byte a second, in the head and in the body; and one that says nothing at all."""
    clients = {name: raw.dial() for name in ("head", "silent")}
    clients["head"].sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n")
    begin = time.monotonic()
    closed = {}
    while len(closed) < len(clients) and time.monotonic() - begin < HEAD_SECONDS + PATIENCE:
        for name, client in clients.items():
            if name in closed:
                continue
            try:
                if name == "head":
                    client.sendall(b"X")
                if select.select([client], [], [], 0)[0] and client.recv(1000) == b"":
                    closed[name] = time.monotonic() - begin
            except OSError:
                closed[name] = time.monotonic() - begin
        time.sleep(0.5)
    for name, client in clients.items():
        client.close()
        check(f"a slow client ({name}) is closed after {closed.get(name, 0):.1f} s",
              HEAD_SECONDS - 2 <= closed.get(name, 0) <= HEAD_SECONDS + 20)


def quiet_streams(raw):
    """Two watchers of a job that has nothing to say, one in each form."""
    answer, _ = raw.send(request("POST /v1/jobs HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                                 f"Content-Length: {len(JOB)}", "Connection: close", body=JOB))
    path = answer.split(b"Location: ")[1].split(b"\r\n")[0].decode()
    streams = {}
    for form in ("application/x-ndjson", "text/event-stream"):
        streams[form] = raw.dial()
        streams[form].sendall(request(f"GET {path}/events HTTP/1.1", "Host: localhost", f"Accept: {form}"))
    return path, streams


def heartbeats(raw, path, streams):
    """Called more than 15 s after quiet_streams."""
    for form, want in (("application/x-ndjson", b"1\r\n \r\n"), ("text/event-stream", b"C\r\n: heartbeat\n\r\n")):
        received, closed = hear(streams[form], want)
        check(f"a quiet stream is kept alive: {form}", want in received and not closed, received)
        streams[form].close()
    raw.send(request(f"POST {path}/cancel HTTP/1.1", "Host: localhost", "Content-Length: 0", "Connection: close"))


def main():
    url, data_dir = sys.argv[1:]
    raw = Raw(url)
    smuggling(raw)
    if raw.where.scheme == "https":
        large_heads(raw)
        return faults != 0
    names(raw)
    traversal(raw, data_dir)
    ranges(raw)
    large(raw)
    path, streams = quiet_streams(raw)
    slow(raw)
    heartbeats(raw, path, streams)
    answer, _ = raw.send(request(*GET, "Connection: close"))
    check("and it still lives", answer.startswith(b"HTTP/1.1 200 "), answer)
    return faults != 0


if __name__ == "__main__":
    sys.exit(main())
