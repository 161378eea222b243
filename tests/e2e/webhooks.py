"""webhooks.py SECRET CODES LOG: a receiver of webhooks, on a free port, which it prints.

It checks each signature as docs/webhooks.md has it, and writes a line of JSON about each request to LOG. The
responses have the status codes of the file CODES, one a line, read at each request: the first is taken away until one
is left.
"""
import base64
import hashlib
import hmac
import http.server
import json
import sys
import threading

SECRET, CODES, LOG = sys.argv[1:]
TAKING = threading.Lock()  # requests come side by side


def verified(secret, headers, body):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(wanted, given) for given in headers["webhook-signature"].split())


def code_take():
    with open(CODES) as file:
        codes = file.read().split()
    if len(codes) > 1:
        with open(CODES, "w") as file:
            file.write("\n".join(codes[1:]))
    return int(codes[0])


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with TAKING:
            code = code_take()
        line = {"path": self.path, "id": self.headers["webhook-id"], "verified": verified(SECRET, self.headers, body),
                "time": int(self.headers["webhook-timestamp"]), "code": code, "body": json.loads(body)}
        with open(LOG, "a") as file:
            file.write(json.dumps(line) + "\n")
        self.send_response(code)
        if 300 <= code < 400:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_address[1], flush=True)
server.serve_forever()
