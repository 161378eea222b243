#!/usr/bin/env python3
"""impostor.py MODE [SERVER|FILE] [SECONDS]: a server in epochd's place. Prints its port.

hostile: answers with names that hold control characters, and with more bytes than a client may keep.
tempting: lists things whose names are commands of a shell: each would make FILE.
quiet: passes everything on to SERVER, but sends eight signs of life before the first event, SECONDS apart.
cutting: passes everything on to SERVER, cuts each answer of events or weights after some bytes, and
loses the answer to the first job that is submitted."""

import http.client
import http.server
import json
import sys
import time
import urllib.parse

MODE = sys.argv[1]
EVIL = "\x1b]0;owned\x07\x1b[31mred\u202egnp\x9b2J\r\nnew"
CUT_BYTES = 1400  # more than the longest event, less than weights
lost = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, text, code=200):
        body = text if isinstance(text, bytes) else text.encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def flood(self, piece, count):
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        try:
            for _ in range(count):
                self.wfile.write(piece)
        except OSError:
            pass

    def hostile(self):
        job = {"id": "job_" + "0" * 26, "object": "job", "name": EVIL, "status": EVIL, "device": EVIL,
               "executor": EVIL, "tags": [EVIL, 5, None], "spec": {EVIL: EVIL}, "progress": EVIL,
               "error": {"message": EVIL}, "created_at": EVIL, "weights": {"url": EVIL, "bytes": "many"},
               "metrics": {"test": {"loss": "NaN", "confusion": [[1, EVIL], 3]}}, "timing": []}
        path = urllib.parse.urlparse(self.path).path
        trial = {"trial": EVIL, "rank": -1, "values": {EVIL: EVIL, "/a/" + EVIL: [EVIL], "/b": 1e300}, "metric": EVIL,
                 "deviation": "Infinity", "outcome": EVIL, "epochs": EVIL, "train_seconds": EVIL}
        if path.endswith("/trials"):
            self.answer(json.dumps({"object": "list", "data": [trial, 7, None], "total": 1 << 60}))
        elif path.startswith("/v1/sweeps"):
            sweep = {**job, "id": "swp_" + "0" * 26, "search": EVIL, "metric": EVIL, "mode": EVIL, "best": trial}
            self.answer(json.dumps(sweep if path[11:] else {"object": "list", "data": [sweep, 7, None], "has_more": False}))
        elif path == "/v1/jobs":
            self.answer(json.dumps({"object": "list", "data": [job, 7, None], "has_more": False}))
        elif path.endswith("/checkpoints"):
            self.answer(json.dumps({"data": [{"step": EVIL, "epoch": -1, "loss": EVIL, "executor": EVIL,
                                              "created_at": EVIL, "weights": EVIL}, 7, None]}))
        elif path.endswith("/events"):
            self.flood(b"{" + b" " * 65535, 64)
        elif path == "/v1/devices":
            self.flood(b"[" + b" " * 1048575, 80)
        elif path == "/v1/queue":
            self.answer("<html>hello</html>")
        elif path == "/v1/models":
            self.answer("[" * 100000)
        elif path.startswith("/v1/datasets/"):
            self.answer(json.dumps({"name": EVIL, "rows": EVIL, "columns": [EVIL, 7], "classes": [1, None, EVIL],
                                    "parts": {"train": {"x": {"shape": [3, 32, 32]}, "rows": EVIL}}}))
        elif path == "/v1/datasets":
            self.answer(json.dumps({"detail": EVIL, "errors": [{"pointer": EVIL, "detail": EVIL}] * 40}), 422)
        elif path.endswith("/curve"):
            self.answer(json.dumps({"epoch": [1, 2, 3, 4], "loss": ["NaN", 1e308, -1e308, "x"],
                                    "validation_loss": [1]}))
        else:
            self.answer(json.dumps(job))

    def tempting(self):
        names = ["a-plain.name", *(form % sys.argv[2] for form in ("$(>%s)", "`>%s`", "a;>%s")), "*"]
        self.answer(json.dumps({"object": "list", "data": [{"id": name, "name": name} for name in names], "has_more": False}))

    def passed_on(self):
        upstream = http.client.HTTPConnection(sys.argv[2].replace("http://", ""), timeout=60)
        size = int(self.headers.get("Content-Length") or 0)
        upstream.request(self.command, self.path, self.rfile.read(size) if size else None,
                         {name: value for name, value in self.headers.items() if name != "Host"})
        answer = upstream.getresponse()
        if MODE == "cutting" and self.command == "POST" and self.path == "/v1/jobs" and not lost:
            lost.append(answer.read())
            self.close_connection = True
            return
        cuts = MODE == "cutting" and ("/events" in self.path or "/weights" in self.path)
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for _ in range(8 if MODE == "quiet" and "/events" in self.path else 0):
            time.sleep(float(sys.argv[3]))
            self.wfile.write(b"\n")
        left = CUT_BYTES if cuts else 1 << 30
        while left > 0:
            piece = answer.read1(min(left, 65536))
            if not piece:
                break
            self.wfile.write(piece)
            left -= len(piece)
        upstream.close()

    def do_GET(self):
        print(self.command, self.path, self.headers.get("Range", ""), file=sys.stderr, flush=True)
        {"hostile": self.hostile, "tempting": self.tempting, "quiet": self.passed_on, "cutting": self.passed_on}[MODE]()

    do_POST = do_GET


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
