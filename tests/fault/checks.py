"""checks.py: what must hold of an epochd that starts after a kill or a power failure, from the notes of
its clients."""

import collections
import json
import os
import subprocess
import time

from clients import ENDED, ENDLESS, PATIENCE_S, Http, Wrong


class Counts(collections.Counter):
    """What was looked at, and what was wrong: `faults` has a line for each."""

    def __init__(self):
        super().__init__()
        self.faults = []

    def fault(self, kind, text):
        self[kind] += 1
        self.faults.append(f"{kind}: {text}")


class Story:
    """What clients know of one job."""

    def __init__(self):
        self.spec, self.told, self.lines, self.result = None, [], {}, None

    def was(self, kind):
        return kind in self.told


def stories(notes):
    told = {}
    for note in notes:
        if note.kind == "submits" or note.kind.startswith("dataset"):
            continue
        story = told.setdefault(note.name, Story())
        if note.kind == "accepted":
            story.spec = note.data
        elif note.kind == "line":
            story.lines[json.loads(note.data)["seq"]] = note.data
        elif note.kind == "result":
            story.result = note.data
        else:
            story.told.append(note.kind)
    return {job: story for job, story in told.items() if story.spec}


def all_jobs(http):
    jobs, path = {}, "/v1/jobs?limit=1000"
    while path:
        page = json.loads(http.must(200, "GET", path))
        jobs.update((job["id"], job) for job in page["data"])
        path = page["next"] and f"/v1/jobs?limit=1000&after={page['next']}"
    return jobs


def look(port, specs, notes, counts):
    """Looks at all that the notes have, and ends all jobs."""
    http, told, found = glance(port, specs, notes, counts)
    for job, state in found.items():
        steer(http, job, state, told.get(job, Story()), counts)
    for job in found:
        ended_look(http, specs, job, told.get(job, Story()), counts)


def swept_wait(port, data):
    """Until the start has looked at all folders of jobs."""
    until = time.monotonic() + PATIENCE_S
    while set(os.listdir(data + "/jobs")) - set(all_jobs(Http(port))):
        if time.monotonic() > until:
            raise Wrong(f"folders stay that no row has: {os.listdir(data + '/jobs')}")
        time.sleep(0.01)


def glance(port, specs, notes, counts):
    """Which jobs and datasets are there."""
    http, told = Http(port), stories(notes)
    found = all_jobs(http)
    counts["accepted"] += len(told)
    for job, story in told.items():
        if job in found:
            if story.was("deleted"):
                counts.fault("wrong", f"job {job} was deleted and is there")
        elif not story.was("deletes"):
            counts.fault("lost", f"job {job} ({story.spec}) was accepted and is not there")
    deleted = {note.name for note in notes if note.kind == "deletes"}
    for job in {note.name for note in notes if note.kind == "seen"} - deleted - set(found) - set(told):
        counts.fault("lost", f"job {job} was shown and is not there")
    datasets_look(http, notes, counts)
    return http, told, found


def steer(http, job, state, story, counts):
    """The state in which the job was found; then it is told to end."""
    last = next((word for word in reversed(story.told) if word in ("pauses", "paused", "resumes", "resumed")), None)
    status = state["status"]
    if last == "paused" and status != "paused" and status not in ENDED:
        counts.fault("wrong", f"job {job} was paused and is {status}")
    if status == "paused":
        if last not in ("pauses", "paused", "resumes"):
            counts.fault("wrong", f"job {job} is paused, but was told: {story.told}")
        http.must(202, "POST", f"/v1/jobs/{job}/resume")
    if story.was("cancelled"):
        return
    if status in ENDED and story.spec == "endless" and not story.was("cancels"):
        counts.fault("wrong", f"job {job} ended {status} and was not cancelled")
    if state["spec"]["epochs"] == ENDLESS:
        http.must(200, "POST", f"/v1/jobs/{job}/cancel")


def ended_look(http, specs, job, story, counts):
    state = http.job(job)
    while state["status"] not in ENDED:
        state = json.loads(http.must(200, "GET", f"/v1/jobs/{job}?wait=5"))
    if state["status"] != ("cancelled" if state["spec"]["epochs"] == ENDLESS else "succeeded"):
        counts.fault("wrong", f"job {job} ({story.spec}, {story.told}) ended {state['status']}: {state.get('error')}")
    for key, value in (story.result or {}).items():
        if state.get(key) != value:
            counts.fault("wrong", f"job {job}: {key} was {value} and is {state.get(key)}")
    events_look(http, job, state, story, counts)
    known = story.spec in specs.weights  # those of a job that began with another's weights are not
    if state["status"] == "succeeded" and known and http.tensors(job) != specs.weights[story.spec]:
        counts.fault("wrong", f"job {job} ({story.spec}, {story.told}) ended with other weights")


def events_look(http, job, state, story, counts):
    status, text = http.ask("GET", f"/v1/jobs/{job}/events")  # to the end: the state is shown a moment before
    if status != 200:
        counts.fault("lost", f"the events of job {job} are answered {status}: {text[:200]}")
        return
    lines = text.splitlines(keepends=True)
    events = [json.loads(line) for line in lines]
    counts["events seen"] += len(story.lines)
    for seq, line in sorted(story.lines.items()):
        if seq > len(lines) or lines[seq - 1] != line:
            now = lines[seq - 1] if seq <= len(lines) else None
            counts.fault("events lost", f"job {job} ({story.spec}, {story.told}): a watcher got {line} and now {now}")
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        counts.fault("events doubled", f"job {job}: its events are not numbered one by one")
    epochs = [event["epoch"] for event in events if event["type"] == "epoch"]
    if any(one >= other for one, other in zip(epochs, epochs[1:])):
        counts.fault("events doubled", f"job {job} ({story.spec}, {story.told}) has epochs {epochs}")
    if [event["type"] for event in events].count("end") != 1 or events[-1]["type"] != "end":
        counts.fault("wrong", f"job {job} has not one end, at the end")
    every, last = state["spec"]["report_every"], state["spec"]["epochs"]
    missing = {*range(every, last, every), last} - set(epochs)
    if state["status"] == "succeeded" and missing:
        counts.fault("events lost", f"job {job} ({story.spec}, {story.told}) has no reports of epochs {sorted(missing)}")


def datasets_look(http, notes, counts):
    """Each name has its last content that was answered, or one that was sent later."""
    may = {}
    for note in notes:
        if note.kind == "dataset uploads":
            may.setdefault(note.name, [None]).append(note.data)
        elif note.kind == "dataset deletes":
            may.setdefault(note.name, [None]).append(None)
        elif note.kind in ("dataset uploaded", "dataset deleted"):
            may[note.name] = may[note.name][-1:]
    for name, contents in may.items():
        status, answer = http.ask("GET", f"/v1/datasets/{name}")
        has = json.loads(answer)["sha256"] if status == 200 else None
        counts["datasets"] += 1
        if has not in contents:
            counts.fault("wrong", f"dataset {name} is {has}, and may be {contents}")


def data_check(build, data):
    """Nothing is wrong with the files."""
    done = subprocess.run([build + "/bin/epochd", "--data-dir", data, "--check"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise Wrong(f"--check finds: {done.stdout} {done.stderr}")


def lost_check(data):
    """Nothing was put aside."""
    if os.path.exists(data + "/lost+found"):
        raise Wrong(f"lost+found has {os.listdir(data + '/lost+found')}")
