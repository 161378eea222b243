"""daemon.py: an epochd of a benchmark's own, and one keep-alive connection to it. It never outlives
the benchmark."""

import atexit
import http.client
import json
import os
import re
import subprocess
import tempfile
import time


class Daemon:
    def __init__(self, prefix, pinned_to=None):
        self.folder = tempfile.TemporaryDirectory(prefix="epochd-bench.")
        pin = ["taskset", "-c", str(pinned_to)] if pinned_to is not None else []
        self.log = os.path.join(self.folder.name, "log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                pin + [os.path.join(prefix, "bin", "epochd"), "--listen", "127.0.0.1:0",
                       "--data-dir", os.path.join(self.folder.name, "data"), "--devices", "cpu"],
                stderr=log)
        atexit.register(self.process.kill)  # does nothing once it has ended and was waited for
        self.connection = http.client.HTTPConnection("127.0.0.1", self._port(), timeout=300)

    def _port(self):
        for _ in range(200):
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", open(self.log).read())
            if found:
                return int(found.group(1))
            time.sleep(0.05)
        raise SystemExit("epochd did not start:\n" + open(self.log).read())

    def request(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:500]!r}")
        return json.loads(text)

    def stream(self, job):
        """Submits and streams; the last event, and the seconds from the request to its arrival."""
        headers = {"Accept": "application/x-ndjson", "Content-Type": "application/json"}
        body = json.dumps(job)
        started = time.perf_counter()
        self.connection.request("POST", "/v1/jobs", body, headers)
        answer = self.connection.getresponse()
        line = b""
        for line in answer:
            if b'"type":"end"' in line:
                break
        seconds = time.perf_counter() - started
        answer.read()
        end = json.loads(line)
        if end.get("type") != "end" or end["status"] != "succeeded":
            raise SystemExit(f"the job did not succeed: {line!r}")
        return end, seconds

    def job(self, identity):
        return self.request("GET", f"/v1/jobs/{identity}")

    def processes(self):
        """Process ids by name: epochd and its workers."""
        found = {"epochd": self.process.pid}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = open(f"/proc/{entry}/stat").read()
            except OSError:
                continue
            name, fields = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")"):].split()
            if int(fields[2]) == self.process.pid:
                found[name] = int(entry)
        return found

    def stop(self):
        self.connection.close()
        self.process.terminate()
        if self.process.wait(60) != 0:
            raise SystemExit(f"epochd ended with {self.process.returncode}")
        self.folder.cleanup()
