"""life.py: the steps of a job's life. Each prepares what it needs while nothing fails, does one thing during which
a call fails, and then, with nothing failing, sees that the thing is done or not done, and nothing in between."""
import hashlib
import json
import os
import signal
import time
import uuid

from faulty import Finding, refused

ENDED = ("succeeded", "failed", "cancelled")
FAULT = ("memory", "No space", "Input/output", "disk")  # in the reason of a job that failed of one
ROWS = "".join(f"{a},{b},{a ^ b}\n" for _ in range(6) for a in (0, 1) for b in (0, 1))
CSV = "a,b,y\n" + ROWS
EPOCHS = 1000
LONG = 60000  # epochs of a job that is paused
UNNAMED = "unnamed"  # the file EP_UNNAMED_FILE


def spec(epochs):
    return {"data": {"dataset": "xor", "target": "y", "test": 0.25}, "loss": "bce_with_logits",
            "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"},
                                 {"type": "linear", "out_features": 1}]},
            "optimizer": {"type": "sgd", "lr": 0.5, "momentum": 0.9}, "epochs": epochs, "report_every": epochs // 10,
            "device": "cpu", "checkpoint": {"every_seconds": 0, "keep": 1}}


class Life:
    """What is true of the daemon's data folder while nothing fails."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.right = {}   # what an undisturbed job leaves, by its epochs
        self.known = set()  # jobs that must be there
        self.may_fail = False  # a job, of the call that fails

    def begin(self):
        self.daemon.must("PUT", "/v1/datasets/xor", CSV, Content_Type="text/csv")
        for epochs in (EPOCHS, LONG):
            job = self.submit(epochs)
            self.ended(job)
            self.right[epochs] = self.results(job)
            if self.status(job) != "succeeded":
                raise Finding("lost", f"an undisturbed job: {self.daemon.get('/v1/jobs/' + job)}")
            self.delete(job)

    def submit(self, epochs):
        job = self.daemon.must("POST", "/v1/jobs", spec(epochs)).json["id"]
        self.known.add(job)
        return job

    def delete(self, job):
        response = self.daemon.ask("DELETE", f"/v1/jobs/{job}")
        if not response.ok and response.status != 404:
            raise Finding("half", f"job {job} cannot be deleted: {response}")
        self.known.discard(job)
        folder = os.path.join(self.daemon.data, "jobs", job)
        self.daemon.until(f"the folder of {job} is gone", lambda: not os.path.exists(folder), 5)

    def job(self, job):
        response = self.daemon.get(f"/v1/jobs/{job}")
        if response.status == 404:
            raise Finding("lost", f"job {job} is not there")
        return response.json if response.ok else {"status": "", "progress": {"epoch": 0}}

    def one_dataset(self):
        """Others are at least marked: the next start deletes them."""
        folder = os.path.join(self.daemon.data, "datasets")
        return [os.path.exists(os.path.join(folder, name, UNNAMED)) for name in os.listdir(folder)].count(False) == 1

    def status(self, job):
        return self.job(job)["status"]

    def is_status(self, job, *statuses):
        return lambda: self.status(job) in statuses

    def ended(self, job):
        self.daemon.until(f"job {job} ends", self.is_status(job, *ENDED))

    def results(self, job):
        weights = self.daemon.must("GET", f"/v1/jobs/{job}/weights").body
        predictions = self.daemon.must("GET", f"/v1/jobs/{job}/predictions").body
        return hashlib.sha256(weights).hexdigest(), hashlib.sha256(predictions).hexdigest()

    def events(self, job):
        body = self.daemon.must("GET", f"/v1/jobs/{job}/events?follow=0").body
        return [json.loads(line) for line in body.splitlines()]

    def whole(self, job, epochs):
        """A job that ended left all that it should, and its log says so."""
        self.ended(job)
        self.daemon.until(f"the end of {job} is in its log", lambda: self.events(job)[-1]["type"] == "end", 10)
        view, events = self.job(job), self.events(job)
        if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
            raise Finding("lost", f"the events of {job} have a gap or a double: {[e['seq'] for e in events]}")
        reported = [event["epoch"] for event in events if event["type"] == "epoch"]
        if reported != sorted(set(reported)):
            raise Finding("lost", f"epochs of {job} are doubled or swapped: {reported}")
        ends = [event for event in events if event["type"] == "end"]
        if len(ends) != 1 or ends[0]["status"] != view["status"]:
            raise Finding("half", f"job {job} is {view['status']}, its log ends with {ends}")
        if view["status"] == "failed" and not self.may_fail:
            raise Finding("lost", f"job {job} failed, where the disk was to be tried again: {view['error']}")
        if view["status"] == "failed" and not any(word in json.dumps(view["error"]) for word in FAULT):
            raise Finding("half", f"job {job} failed, and does not say why: {view['error']}")
        if view["status"] == "succeeded":
            missing = set(range(epochs // 10, epochs + 1, epochs // 10)) - set(reported)
            if missing:
                raise Finding("lost", f"job {job} has no events of epochs {missing}")
            if self.results(job) != self.right[epochs]:
                raise Finding("half", f"job {job} succeeded with other weights or predictions")
            if view["weights"]["sha256"] != self.right[epochs][0]:
                raise Finding("half", f"job {job} names weights that are not its own")

    def list(self):
        return {row["id"] for row in self.daemon.must("GET", "/v1/jobs?limit=1000").json["data"]}

    def only_known(self):
        there = self.list()
        if there != self.known:
            raise Finding("lost" if self.known - there else "half",
                          f"jobs: {sorted(there)} are there, {sorted(self.known)} were accepted")


class Step:
    name = ""
    programs = ("epochd",)

    def __init__(self, life):
        self.life, self.daemon = life, life.daemon

    def prepare(self):
        pass

    def act(self):
        """While a call fails."""

    def settle(self):
        """Nothing fails any more."""


class Upload(Step):
    name = "upload"
    text = CSV + "1,1,0\n"

    def act(self):
        self.response = self.daemon.ask("PUT", "/v1/datasets/other", self.text, Content_Type="text/csv")

    def settle(self):
        failed = refused("the upload", self.response)
        there = self.daemon.get("/v1/datasets/other")
        unknown = self.response.status == 0 or b"outcome_unknown" in self.response.body
        if there.ok == failed and not unknown:
            raise Finding("half" if failed else "lost", f"an upload that was answered {self.response} is {there}")
        self.daemon.must("PUT", "/v1/datasets/other", self.text, Content_Type="text/csv")
        if self.daemon.must("GET", "/v1/datasets/other").json["rows"] != 25:
            raise Finding("half", "a dataset has too few rows")
        self.daemon.must("DELETE", "/v1/datasets/other")
        self.daemon.until("one dataset is left", self.life.one_dataset, 5)


class DatasetDelete(Step):
    name = "delete a dataset"

    def prepare(self):
        self.daemon.must("PUT", "/v1/datasets/other", Upload.text, Content_Type="text/csv")

    def act(self):
        self.response = self.daemon.ask("DELETE", "/v1/datasets/other")

    def settle(self):
        failed = refused("the deletion", self.response)
        if not failed and self.daemon.get("/v1/datasets/other").status != 404:
            raise Finding("half", "a deleted dataset is there")
        if failed and self.daemon.ask("DELETE", "/v1/datasets/other").status not in (200, 204, 404):
            raise Finding("half", "a dataset cannot be deleted")
        self.daemon.until("one dataset is left", self.life.one_dataset, 5)


class Train(Step):
    """From the submission to the end."""
    name = "submit, train, end"
    programs = ("epochd", "epoch-worker")

    def prepare(self):
        self.key = uuid.uuid4().hex

    def post(self):
        return self.daemon.ask("POST", "/v1/jobs", spec(EPOCHS), Idempotency_Key=self.key)

    def act(self):
        self.response = self.post()
        if self.response.ok:
            job = self.response.json["id"]
            self.daemon.until(f"job {job} ends", lambda: self.daemon.get(f"/v1/jobs/{job}").body and
                              self.ended_or_refused(job))

    def ended_or_refused(self, job):
        response = self.daemon.get(f"/v1/jobs/{job}")
        return response.ok and response.json["status"] in ENDED

    def settle(self):
        failed = refused("the submission", self.response)
        unknown = self.response.status == 0 or b"outcome_unknown" in self.response.body
        if failed and not unknown:
            self.life.only_known()
        job = self.post().json.get("id") if failed else self.response.json["id"]
        if not job:
            raise Finding("lost", f"the submission cannot be repeated: {self.post()}")
        self.life.known.add(job)
        self.life.whole(job, EPOCHS)
        self.life.only_known()
        self.life.delete(job)


class Pause(Step):
    name = "checkpoint, pause"
    programs = ("epochd", "epoch-worker")

    def prepare(self):
        self.job = self.life.submit(LONG)
        self.daemon.until("it trains", lambda: self.life.job(self.job)["progress"]["epoch"] > 0 or
                          self.life.status(self.job) in ENDED)

    def act(self):
        self.response = self.daemon.ask("POST", f"/v1/jobs/{self.job}/pause")
        self.daemon.until("it pauses, or goes on",
                          lambda: self.stands() or self.response.status not in (0, 202))

    def stands(self):
        response = self.daemon.get(f"/v1/jobs/{self.job}")
        return response.ok and response.json["status"] in ENDED + ("paused",)

    def settle(self):
        refused("the pause", self.response, conflict=True)
        self.daemon.ask("POST", f"/v1/jobs/{self.job}/pause")
        self.daemon.until("it is paused or has ended", self.stands)
        if self.life.status(self.job) == "paused":
            self.daemon.must("POST", f"/v1/jobs/{self.job}/resume")
        self.life.whole(self.job, LONG)
        self.life.delete(self.job)


def paused(life):
    """A job that is paused."""
    while True:
        job = life.submit(LONG)
        life.daemon.until("it trains", lambda: life.job(job)["progress"]["epoch"] > 0 or life.status(job) in ENDED)
        life.daemon.ask("POST", f"/v1/jobs/{job}/pause")
        life.daemon.until("it is paused", life.is_status(job, "paused", *ENDED))
        if life.status(job) == "paused":
            return job
        life.delete(job)


class Resume(Step):
    name = "resume, end"
    programs = ("epochd", "epoch-worker")

    def prepare(self):
        self.job = paused(self.life)

    def act(self):
        self.response = self.daemon.ask("POST", f"/v1/jobs/{self.job}/resume")
        if self.response.ok:
            self.daemon.until("it ends", lambda: self.ended())

    def ended(self):
        response = self.daemon.get(f"/v1/jobs/{self.job}")
        return response.ok and response.json["status"] in ENDED

    def settle(self):
        if refused("the resumption", self.response):
            self.daemon.must("POST", f"/v1/jobs/{self.job}/resume")
        self.life.whole(self.job, LONG)
        self.life.delete(self.job)


class Cancel(Step):
    name = "cancel"
    programs = ("epochd", "epoch-worker")

    def prepare(self):
        self.job = self.life.submit(900000000)
        self.daemon.until("it trains", self.life.is_status(self.job, "running"))

    def act(self):
        self.response = self.daemon.ask("POST", f"/v1/jobs/{self.job}/cancel")
        if self.response.ok:
            self.daemon.until("it ends", lambda: Resume.ended(self))

    def settle(self):
        if refused("the cancellation", self.response):
            self.daemon.must("POST", f"/v1/jobs/{self.job}/cancel")
        self.life.whole(self.job, EPOCHS)
        if self.life.status(self.job) != "cancelled" and not self.life.may_fail:
            raise Finding("lost", f"a cancelled job is {self.life.status(self.job)}")
        self.life.delete(self.job)


class Sweep(Step):
    """From the submission of a sweep to its end: its trials are those of one that nothing disturbed."""
    name = "sweep"
    programs = ("epochd", "epoch-worker")
    right = {}  # what its trials end with, by the daemon's folder

    def prepare(self):
        self.key = uuid.uuid4().hex
        if self.daemon.data not in self.right:
            sweep = self.post().json["id"]
            self.daemon.until("the sweep ends", lambda: self.ended(sweep))
            self.right[self.daemon.data] = self.trials(sweep)
            self.remove(sweep)
            self.key = uuid.uuid4().hex

    def post(self):
        job = {key: value for key, value in spec(20).items() if key != "checkpoint"}
        return self.daemon.ask("POST", "/v1/sweeps", {
            "job": job | {"data": job["data"] | {"validation": 0.25}}, "search": "random", "max_trials": 4,
            "metric": "validation.loss", "space": {"/optimizer/lr": {"log_uniform": [0.01, 1]}}}, Idempotency_Key=self.key)

    def ended(self, sweep):
        response = self.daemon.get(f"/v1/sweeps/{sweep}")
        return response.ok and response.json["status"] in ENDED and response.json

    def trials(self, sweep):
        rows = self.daemon.must("GET", f"/v1/sweeps/{sweep}/trials?limit=100").json["data"]
        # a trial whose data cannot be read for long says so
        if self.life.may_fail:
            rows = [row for row in rows if row["outcome"] not in ("io_error", "out_of_memory")]
        return {row["trial"]: (json.dumps(row["values"]), row["metric"]) for row in rows}

    def remove(self, sweep):
        self.daemon.must("DELETE", f"/v1/sweeps/{sweep}")
        folder = os.path.join(self.daemon.data, "jobs", sweep)
        self.daemon.until(f"the folder of {sweep} is gone", lambda: not os.path.exists(folder), 5)

    def act(self):
        self.response = self.post()
        if self.response.ok:
            self.daemon.until("the sweep ends", lambda: self.ended(self.response.json["id"]))

    def settle(self):
        failed = refused("the sweep", self.response)
        response = self.post() if failed else self.response
        if not response.ok:
            raise Finding("lost", f"the sweep cannot be repeated: {response}")
        sweep = response.json["id"]
        view = self.daemon.until("the sweep ends", lambda: self.ended(sweep))
        if view["status"] == "failed":
            if not self.life.may_fail or not any(word in json.dumps(view["error"]) for word in FAULT):
                raise Finding("lost", f"the sweep failed: {view['error']}")
        elif not (trials := self.trials(sweep)).items() <= self.right[self.daemon.data].items() or (
                len(trials) < 4 and not self.life.may_fail):
            raise Finding("half", f"the sweep has other trials: {self.trials(sweep)}")
        self.remove(sweep)


class Publish(Step):
    """A job's weights become a model, which predicts, and goes."""
    name = "publish, delete a model"

    def prepare(self):
        self.job = getattr(self, "job", None) or self.life.submit(EPOCHS)
        self.life.ended(self.job)

    def act(self):
        self.put = self.daemon.ask("PUT", "/v1/models/xor", {"job": self.job})
        self.delete = self.daemon.ask("DELETE", "/v1/models/xor") if self.put.ok else self.put

    def settle(self):
        refused("the publication", self.put)
        there = self.daemon.get("/v1/models/xor")
        if self.put.ok and not refused("the deletion of the model", self.delete) and there.status != 404:
            raise Finding("half", f"a deleted model is there: {there}")
        self.daemon.must("PUT", "/v1/models/xor", {"job": self.job})
        if self.daemon.must("GET", "/v1/models/xor").json["job"] != self.job:
            raise Finding("half", "a model is of another job")
        self.daemon.must("DELETE", "/v1/models/xor")


class JobDelete(Step):
    name = "delete a job"

    def prepare(self):
        self.job = self.life.submit(EPOCHS)
        self.life.ended(self.job)

    def act(self):
        self.response = self.daemon.ask("DELETE", f"/v1/jobs/{self.job}")

    def settle(self):
        if not refused("the deletion", self.response) and self.daemon.get(f"/v1/jobs/{self.job}").status != 404:
            raise Finding("half", "a deleted job is there")
        if self.daemon.get(f"/v1/jobs/{self.job}").ok:
            self.daemon.until("its folder is back", lambda: self.daemon.get(f"/v1/jobs/{self.job}/weights").ok)
            self.life.whole(self.job, EPOCHS)
        self.life.delete(self.job)
        self.life.only_known()


class Labels(Step):
    name = "change labels"

    def prepare(self):
        self.job = getattr(self, "job", None) or self.life.submit(EPOCHS)
        self.life.ended(self.job)
        self.daemon.must("PATCH", f"/v1/jobs/{self.job}", {"name": "before", "tags": ["a", "b"]})

    def act(self):
        self.response = self.daemon.ask("PATCH", f"/v1/jobs/{self.job}", {"name": "after", "tags": ["b", "c"]})

    def settle(self):
        failed = refused("the change", self.response)
        view = self.life.job(self.job)
        now = view["name"], view["tags"]
        if now != ("after", ["b", "c"]) and (not failed or now != ("before", ["a", "b"])):
            raise Finding("half", f"labels that were answered {self.response.status} are {now}")


class Read(Step):
    """A request that changes nothing."""
    method, path, body, epochs = "GET", "", None, EPOCHS
    jobs = {}
    bytes_same = True

    def prepare(self):
        if self.epochs not in self.jobs:
            job = self.jobs[self.epochs] = self.life.submit(EPOCHS) if self.epochs == EPOCHS else paused(self.life)
            self.daemon.until("it stands", self.life.is_status(job, "paused", *ENDED))
        self.daemon.until(f"{self.name} is answered", self.answered)
        self.right = self.response

    def ask(self):
        return self.daemon.ask(self.method, self.path.format(job=self.jobs[self.epochs]), self.body)

    def compare(self, response):
        if self.bytes_same and response.body != self.right.body:
            raise Finding("half", f"{self.name} is other than before: {response}")

    def act(self):
        self.response = self.ask()

    def settle(self):
        if not refused(self.name, self.response):
            self.compare(self.response)
        self.daemon.until(f"{self.name} is as before", self.answered)
        self.compare(self.response)

    def answered(self):
        """A worker that ended is started again."""
        self.response = self.ask()
        if not self.response.ok and self.response.status != 503:
            raise Finding("lost", f"{self.name} fails afterwards: {self.response}")
        return self.response.ok


def read(name, path, method="GET", body=None, epochs=EPOCHS, bytes_same=True, programs=("epochd",)):
    return type("Read", (Read,), {"name": name, "path": path, "method": method, "body": body, "epochs": epochs,
                                  "bytes_same": bytes_same, "programs": programs})


BOTH = ("epochd", "epoch-worker")
READS = [read("get a job", "/v1/jobs/{job}"), read("list jobs", "/v1/jobs?limit=10"),
         read("events", "/v1/jobs/{job}/events?follow=0"), read("curve", "/v1/jobs/{job}/curve"),
         read("weights", "/v1/jobs/{job}/weights"), read("weights as npz", "/v1/jobs/{job}/weights?format=npz"),
         read("weights as json", "/v1/jobs/{job}/weights?format=json"),
         read("weights as onnx", "/v1/jobs/{job}/weights?format=onnx"),
         read("predictions", "/v1/jobs/{job}/predictions"), read("get a dataset", "/v1/datasets/xor"),
         read("predict", "/v1/jobs/{job}/predict", "POST", {"x": [[0, 1]]}, programs=BOTH),
         read("list checkpoints", "/v1/jobs/{job}/checkpoints", epochs=LONG),
         read("weights of a checkpoint", "/v1/jobs/{job}/checkpoints/latest/weights", epochs=LONG),
         read("predict by a checkpoint", "/v1/jobs/{job}/predict?checkpoint=latest", "POST", {"x": [[0, 1]]},
              epochs=LONG, programs=BOTH),
         read("metrics", "/metrics", bytes_same=False), read("queue", "/v1/queue", bytes_same=False)]


class Start(Step):
    """epochd starts over a job that has ended, one that is paused and one that was running."""
    name = "start"
    programs = ("epochd", "epoch-worker")

    def prepare(self):
        self.finished = getattr(self, "finished", None) or self.life.submit(EPOCHS)
        self.life.ended(self.finished)
        self.running = self.life.submit(LONG)
        self.daemon.until("it trains", lambda: self.life.job(self.running)["progress"]["epoch"] > 0 or
                          self.life.status(self.running) in ENDED)
        self.daemon.kill()

    def act(self):
        if self.daemon.start():
            self.daemon.get("/livez")
            self.daemon.until("it ends", lambda: Resume.ended(self))
        elif self.daemon.process.returncode < 0 and not self.daemon.calls.starts_openssl:
            raise Finding("crash", f"epochd ended by signal {-self.daemon.process.returncode} while it started")

    @property
    def job(self):
        return self.running

    def settle(self):
        if self.daemon.process.poll() is not None and not self.daemon.start():
            raise Finding("lost", "epochd does not start after the fault")
        self.life.only_known()
        self.life.whole(self.running, LONG)
        self.life.whole(self.finished, EPOCHS)
        self.life.delete(self.running)


class Stop(Step):
    """SIGTERM while a job trains."""
    name = "stop"
    programs = ("epochd", "epoch-worker")

    def prepare(self):
        self.job = self.life.submit(LONG)
        self.daemon.until("it trains", lambda: self.life.job(self.job)["progress"]["epoch"] > 0 or
                          self.life.status(self.job) in ENDED)

    def act(self):
        self.daemon.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + 40
        while self.daemon.process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)

    def settle(self):
        status = self.daemon.process.poll()
        if status is None:
            self.daemon.kill()
            raise Finding("lost", "epochd still runs 40 s after SIGTERM")
        if status < 0:
            raise Finding("crash", f"epochd ended by signal {-status} while it stopped")
        if not self.daemon.start():
            raise Finding("lost", "epochd does not start after the fault")
        self.life.only_known()
        self.life.whole(self.job, LONG)
        self.life.delete(self.job)


STEPS = [Upload, Train, Pause, Resume, Cancel, Labels, Sweep, Publish, *READS, JobDelete, DatasetDelete, Start, Stop]
