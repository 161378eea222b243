"""clients.py: an epochd, and clients that write down what they were answered until it is gone."""

import collections
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from http.client import HTTPConnection, HTTPException

PATIENCE_S = 240
ENDLESS = 900000000  # epochs of a job that is to be cancelled
ENDED = ("succeeded", "failed", "cancelled")
XOR = {"data": {"generator": "xor"}, "loss": "bce_with_logits", "device": "cpu",
       "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                            {"type": "linear", "out_features": 1}]},
       "optimizer": {"type": "sgd", "lr": 0.5, "momentum": 0.9}}
LINE = {"data": {"dataset": "line", "target": "y"}, "loss": "mse", "device": "cpu", "epochs": 100,
        "report_every": 10, "model": {"layers": [{"type": "linear", "out_features": 1}]}}
LINE_CSV = b"x,y\n" + b"".join(b"0.%03d,0.%03d\n" % (x, 999 - 2 * x) for x in range(200))


class Wrong(Exception):
    """What must hold does not."""


class Daemon:
    FLAGS = ["--devices", "cpu", "--cpu-jobs", "2", "--checkpoint-after", "0", "--crashes-max", "0"]

    def __init__(self, build, data, log, environment=None, flags=()):
        self.log = log
        with open(log, "ab") as output:
            output.truncate(0)
            self.process = subprocess.Popen(
                [build + "/bin/epochd", "--listen", "127.0.0.1:0", "--data-dir", data, *self.FLAGS, *flags],
                stderr=output, env={**os.environ, **(environment or {})}, start_new_session=True)
        until, self.port = time.monotonic() + PATIENCE_S, None
        while not self.port:
            with open(log, encoding="utf-8", errors="replace") as text:
                found = re.search(r"listening on http://127.0.0.1:(\d+)", text.read())
            self.port = int(found.group(1)) if found else None
            if self.process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise Wrong("the daemon does not start: " + self.log_end())
            time.sleep(0.005)

    def log_end(self):
        with open(self.log, encoding="utf-8", errors="replace") as text:
            return text.read()[-1500:]

    def kill(self):
        """As the power does: the daemon and its workers, at once."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def stop(self):
        self.process.terminate()
        if self.process.wait(30) != 0:
            raise Wrong("the daemon does not end as it should: " + self.log_end())


class Http:
    """One connection."""

    def __init__(self, port):
        self.connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def ask(self, method, path, body=None, kind="application/json", **headers):
        if isinstance(body, dict):
            body = json.dumps(body)
        headers = {name.replace("_", "-"): text for name, text in headers.items()}
        headers.setdefault("Accept", "application/x-ndjson" if "/events" in path else "application/json")
        if body is not None:
            headers["Content-Type"] = kind
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        return response.status, response.read()

    def must(self, expected, method, path, body=None, kind="application/json", **headers):
        status, answer = self.ask(method, path, body, kind, **headers)
        if status != expected:
            raise Wrong(f"{method} {path} is answered {status}: {answer[:300]}")
        return answer

    def job(self, job):
        return json.loads(self.must(200, "GET", f"/v1/jobs/{job}"))

    def tensors(self, job):
        """The hash of a job's weights, without the notes beside them."""
        tensors = json.loads(self.must(200, "GET", f"/v1/jobs/{job}/weights?format=json"))["tensors"]
        return hashlib.sha256(json.dumps(tensors, sort_keys=True).encode()).hexdigest()


class Specs:
    """The jobs that clients submit, and the weights that each has if nothing disturbs it."""

    @classmethod
    def undisturbed(cls, build, scratch):
        daemon = Daemon(build, scratch + "/undisturbed", scratch + "/epochd.log")
        try:
            return cls(Http(daemon.port))
        finally:
            daemon.kill()

    def __init__(self, http):
        self.http, self.weights = http, {}
        http.must(201, "PUT", "/v1/datasets/line", LINE_CSV, "text/csv")
        measured = self.run(dict(XOR, epochs=20000, report_every=20000))
        epochs = max(1000, int(0.6e6 / measured["timing"]["epoch_microseconds"]))
        every = {"epochs": epochs, "report_every": max(1, epochs // 60)}
        often = {"checkpoint": {"every_seconds": 0.1, "keep": 1}}
        self.spec = {f"small {seed}": dict(XOR, epochs=500, report_every=50, seed=seed) for seed in range(8)}
        self.spec.update({f"line {seed}": dict(LINE, seed=seed) for seed in range(3)})
        self.spec.update({f"long {seed}": dict(XOR, **every, **often, seed=seed) for seed in range(3)})
        for name, spec in self.spec.items():
            self.weights[name] = http.tensors(self.run(spec)["id"])
        self.spec["endless"] = dict(XOR, **often, epochs=ENDLESS, report_every=every["report_every"])

    def run(self, spec):
        job = json.loads(self.http.must(201, "POST", "/v1/jobs", spec))["id"]
        while True:
            state = json.loads(self.http.must(200, "GET", f"/v1/jobs/{job}?wait=5"))
            if state["status"] in ENDED:
                break
        if state["status"] != "succeeded":
            raise Wrong(f"an undisturbed job: {state}")
        return state


Note = collections.namedtuple("Note", "moment kind name data")


class Notes:
    """What clients did and were answered, each with the moment behind it."""

    def __init__(self, trace=None, notes=()):
        """trace: the file whose size is the moment (power/disks.py); without one, all are of the moment 0."""
        self.trace, self.notes, self.lock = trace, list(notes), threading.Lock()

    def add(self, kind, name, data=None):
        moment = os.stat(self.trace).st_size if self.trace else 0
        with self.lock:
            self.notes.append(Note(moment, kind, name, data))

    def until(self, moment, begins=False):
        """Those that were true at the moment; begins: as of before a new trace."""
        with self.lock:
            known = [note for note in self.notes if note.moment <= moment]
        return [note._replace(moment=0) for note in known] if begins else known


class Clients:
    """Threads that use the daemon until it is gone."""

    def __init__(self, port, specs, notes, seed, short=False, see=False):
        """short: of jobs that begin at once, end at once and are deleted, or start from others' weights.
        see: first of all, looks at the jobs that are there, of an epochd before."""
        self.port, self.specs, self.notes, self.seed = port, specs, notes, seed
        self.stop, self.jobs, self.open, self.faults = threading.Event(), [], {}, []
        if see:
            self.see(Http(port))
        self.put(Http(port), "line", LINE_CSV)
        roles = [self.submit, self.submit, self.watch, self.watch, self.watch, self.cancel, self.pause,
                 self.delete, self.upload]
        if short:
            roles = [self.delete, self.derive]
        self.threads = [threading.Thread(target=self.play, args=(role, i)) for i, role in enumerate(roles)]
        for thread in self.threads:
            thread.start()

    def see(self, http):
        for job in reversed(json.loads(http.must(200, "GET", "/v1/jobs?limit=1000"))["data"]):
            self.notes.add("seen", job["id"])
            if job["status"] not in ENDED:
                self.jobs.append(job["id"])

    def end(self):
        self.stop.set()

    def join(self):
        for thread in self.threads:
            thread.join()
        if self.faults:
            raise Wrong(self.faults[0])

    def play(self, role, number):
        chance = random.Random(f"{self.seed} {number}")
        try:
            http = Http(self.port)
            while not self.stop.is_set():
                role(http, chance)
                self.stop.wait(chance.random() * 0.04)
        except (OSError, HTTPException):
            pass  # the daemon is gone
        except Wrong as wrong:
            if not self.stop.is_set():
                self.faults.append(str(wrong))

    def begin(self, http, name):
        self.notes.add("submits", None, name)
        job = json.loads(http.must(201, "POST", "/v1/jobs", self.specs.spec[name]))["id"]
        self.notes.add("accepted", job, name)
        self.jobs.append(job)
        return job

    def submit(self, http, chance):
        kind = chance.choice(["small"] * 6 + ["line"] * 2 + ["long"])
        if kind == "long":
            self.open = {job: None for job in list(self.open) if http.job(job)["status"] not in ENDED}
            if len(self.open) >= 3:
                kind = "small"
        name = chance.choice([name for name in self.specs.spec if name.startswith(kind)])
        job = self.begin(http, name)
        if kind == "long":
            self.open[job] = None

    def watch(self, http, chance):
        if not self.jobs:
            return
        job, line = chance.choice(self.jobs[-6:]), b""
        own = Http(self.port)
        own.connection.request("GET", f"/v1/jobs/{job}/events", headers={"Accept": "application/x-ndjson"})
        response = own.connection.getresponse()
        if response.status != 200:
            return  # deleted
        while not self.stop.is_set():
            got = response.readline()
            if not got.endswith(b"\n"):
                break
            line = got.lstrip(b" ")
            self.notes.add("line", job, line)
        if b'"type":"end"' in line:
            status, answer = http.ask("GET", f"/v1/jobs/{job}")
            if status == 200:
                state = json.loads(answer)
                self.notes.add("result", job, {key: state.get(key) for key in ("status", "finished_at", "metrics")})

    def cancel(self, http, chance):
        job = self.begin(http, "endless")
        self.stop.wait(chance.random() * 0.5)
        self.notes.add("cancels", job)
        http.must(200, "POST", f"/v1/jobs/{job}/cancel")
        self.notes.add("cancelled", job)

    def pause(self, http, chance):
        running = list(self.open)
        if not running:
            return
        job = chance.choice(running)
        self.stop.wait(chance.random() * 0.2)
        self.notes.add("pauses", job)
        if http.ask("POST", f"/v1/jobs/{job}/pause")[0] != 202:
            return
        self.notes.add("paused", job)
        self.stop.wait(chance.random() * 0.4)
        self.notes.add("resumes", job)
        if http.ask("POST", f"/v1/jobs/{job}/resume")[0] == 202:
            self.notes.add("resumed", job)

    def delete(self, http, chance):
        job = self.begin(http, f"small {chance.randrange(8)}")
        http.must(200, "GET", f"/v1/jobs/{job}?wait=5")
        self.notes.add("deletes", job)
        if http.ask("DELETE", f"/v1/jobs/{job}")[0] == 204:
            self.notes.add("deleted", job)

    def derive(self, http, chance):
        """A job, and one that starts from its weights; both are deleted."""
        first = self.begin(http, f"small {chance.randrange(8)}")
        http.must(200, "GET", f"/v1/jobs/{first}?wait=5")
        body = dict(self.specs.spec["small 0"])
        body["model"] = dict(body["model"], init={"job": first})
        self.notes.add("submits", None, "derived")
        second = json.loads(http.must(201, "POST", "/v1/jobs", body))["id"]
        self.notes.add("accepted", second, "derived")
        http.must(200, "GET", f"/v1/jobs/{second}?wait=5")
        for job in (second, first):
            self.notes.add("deletes", job)
            if http.ask("DELETE", f"/v1/jobs/{job}")[0] == 204:
                self.notes.add("deleted", job)

    def upload(self, http, chance):
        name = f"churn-{chance.randrange(4)}"
        if chance.random() < 0.3:
            self.notes.add("dataset deletes", name)
            if http.ask("DELETE", f"/v1/datasets/{name}")[0] == 204:
                self.notes.add("dataset deleted", name)
            return
        text = b"x,y\n" + b"".join(b"%d,%d\n" % (chance.randrange(1000), x) for x in range(chance.randrange(1, 2000)))
        self.put(http, name, text)

    def put(self, http, name, text):
        self.notes.add("dataset uploads", name, hashlib.sha256(text).hexdigest())
        status, answer = http.ask("PUT", f"/v1/datasets/{name}", text, "text/csv")
        if status not in (200, 201):
            raise Wrong(f"an upload is answered {status}: {answer[:300]}")
        self.notes.add("dataset uploaded", name)


