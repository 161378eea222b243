"""daemon.py: an epochd of a benchmark's own, and one keep-alive connection to it. It never outlives
the benchmark."""

import atexit
import http.client
import json
import os
import re
import struct
import subprocess
import tempfile
import time


def safetensors(arrays):
    """The bytes of a safetensors file that holds these float32 arrays."""
    header, body = {}, b""
    for name, array in arrays.items():
        raw = array.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def cpu_seconds(process):
    """What a process has taken so far, of all its threads; to a hundredth."""
    fields = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """The daemon did not do what it was asked, and how it answered."""


CALIBRATION_SECONDS_MAX = 60


def start(prefix, devices, kind):
    """A daemon that has a device of that kind; a driver that was asleep gets a second chance."""
    for last in (False, True):
        daemon = Daemon(prefix, devices=devices)
        try:
            daemon.wait_for(kind)
            return daemon
        except Failed as failed:
            daemon.stop()
            if last:
                raise
            print(f"  {failed}; once more")
    return None


class Daemon:
    """prefix/bin holds epochd. pinned_to: the cores that it and its workers may use, as taskset -c takes
    them. folder: of its data and its log, the caller's; None = one of its own."""

    def __init__(self, prefix, pinned_to=None, devices="cpu", flags=(), folder=None):
        self.own_folder = None if folder else tempfile.TemporaryDirectory(prefix="epochd-bench.")
        self.folder = folder or self.own_folder.name
        pin = ["taskset", "-c", str(pinned_to)] if pinned_to is not None else []
        self.log = os.path.join(self.folder, "log")
        # What the programs need beside the system's libraries, where they were brought along.
        libraries = os.environ.get("EPOCHD_BENCH_LIBRARIES")
        environment = dict(os.environ, **({"LD_LIBRARY_PATH": libraries} if libraries else {}))
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                pin + [os.path.join(prefix, "bin", "epochd"), "--listen", "127.0.0.1:0",
                       "--data-dir", os.path.join(self.folder, "data"), "--devices", devices, *flags],
                stderr=log, env=environment, start_new_session=True)  # Ctrl-C is for the benchmark
        atexit.register(self.process.kill)  # does nothing once it has ended and was waited for
        self.connection = http.client.HTTPConnection("127.0.0.1", self._port(), timeout=300)

    def _port(self):
        for _ in range(5000):
            found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", open(self.log).read())
            if found:
                return int(found.group(1))
            time.sleep(0.002)
        raise SystemExit("epochd did not start:\n" + open(self.log).read())

    def ask(self, method, path, body=None, headers=None):
        """The status and the JSON of the answer; null where it has none."""
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read() or "null")

    def request(self, method, path, body=None, headers=None):
        status, answer = self.ask(method, path, body, headers)
        if status >= 300:
            raise Failed(f"{method} {path}: {status} {answer}")
        return answer

    def upload(self, name, body):
        return self.request("PUT", f"/v1/datasets/{name}", body)

    def kinds(self):
        """{"cpu", "cuda"}, those that there are."""
        return {device["id"].split(":")[0] for device in self.request("GET", "/v1/devices")["data"]}

    def wait_for(self, kind, seconds=CALIBRATION_SECONDS_MAX, calibrated=True):
        """Until the devices of that kind take jobs, and all are calibrated; Failed when there is none,
        or none that takes jobs, with what the daemon says of devices."""
        if kind not in self.kinds():
            said = [line for line in open(self.log) if "device" in line or kind in line]
            raise Failed(f"the daemon has no {kind}: {''.join(said)[:1000] or 'and does not say why'}")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            devices = self.request("GET", "/v1/devices")["data"]
            log = open(self.log).read()
            idle = all(device["state"] == "idle" for device in devices)
            if idle and (not calibrated or all(f"device {device['id']} is calibrated" in log for device in devices)):
                return
            time.sleep(0.1)
        if not idle:
            raise Failed(f"devices do not take jobs: {[(device['id'], device['state']) for device in devices]}")

    def calibrations(self):
        """What the daemon keeps of its devices: the texts of its files."""
        folder = os.path.join(self.folder, "data", "calibration")
        return [json.load(open(os.path.join(folder, name))) for name in sorted(os.listdir(folder))]

    def validate(self, job):
        return self.ask("POST", "/v1/jobs?validate=only", json.dumps(job), {"Content-Type": "application/json"})

    def refusal(self, job):
        """Why this job would not be taken; None when it would."""
        status, answer = self.validate(job)
        if status < 300:
            return None
        details = [f"{error['pointer']}: {error['detail']}" for error in answer.get("errors", [])]
        return "; ".join(details) or answer.get("detail", str(status))

    def stream(self, job):
        """Submits and streams; the last event, and the seconds from the request to its arrival."""
        headers = {"Accept": "application/x-ndjson", "Content-Type": "application/json"}
        body = json.dumps(job)
        started = time.perf_counter()
        self.connection.request("POST", "/v1/jobs", body, headers)
        answer = self.connection.getresponse()
        lines = bytearray()
        while part := answer.read1(1 << 16):  # not line by line, which takes a microsecond each and more
            lines += part
        answer.close()  # read1 leaves it open where it had a length
        seconds = time.perf_counter() - started
        line = bytes(lines[lines.rfind(b"\n", 0, -1) + 1:])
        if answer.status >= 300:
            raise Failed(f"the job was answered {answer.status}: {line[:500]!r}")
        end = json.loads(line)
        if end.get("type") != "end" or end["status"] != "succeeded":
            raise Failed(f"the job did not succeed: {line[:500]!r}")
        return end, seconds

    def job(self, identity):
        return self.request("GET", f"/v1/jobs/{identity}")

    def processes(self):
        """Process ids by name: epochd and its workers, of which there may be several of a name."""
        return dict(self.processes_named())

    def processes_named(self):
        """(name, process id) of each, epochd first."""
        found = [("epochd", self.process.pid)]
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = open(f"/proc/{entry}/stat").read()
            except OSError:
                continue
            name, fields = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")"):].split()
            if int(fields[2]) == self.process.pid:
                found.append((name, int(entry)))
        return found

    def stop(self):
        self.connection.close()
        self.process.terminate()
        if self.process.wait(60) != 0:
            raise SystemExit(f"epochd ended with {self.process.returncode}")
        if self.own_folder:
            self.own_folder.cleanup()
