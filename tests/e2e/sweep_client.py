#!/usr/bin/env python3
"""sweep_client.py: sweeps by clients/python/epochd. EPOCHD says where the daemon is."""
import contextlib
import io
import os
import xml.etree.ElementTree

import epochd.sweep
from epochd import Client, EpochdError, JobFailed

DEVICE = os.environ.get("EPOCHD_TEST_DEVICE", "cpu")
DISC = {"data": {"generator": "disc", "rows": 200, "validation": 0.25}, "loss": "bce_with_logits", "device": DEVICE,
        "model": {"layers": [{"type": "linear", "out_features": 4}, {"type": "tanh"}, {"type": "linear", "out_features": 1}]},
        "optimizer": {"type": "adam", "lr": 0.01}, "batch_size": 50, "epochs": 10}
SPACE = {"/optimizer/lr": {"log_uniform": [1e-4, 1e-1]}, "/batch_size": [10, 50]}


def raises(kind, action):
    try:
        action()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def swept(client):
    """A sweep to its end, with progress in a pipe."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        sweep = client.sweep(DISC, SPACE, max_trials=25, repeats=2, name="first", tags=["python"]).wait(progress=True)
    assert sweep.status == "succeeded" and sweep.progress["done"] == 50, sweep.document
    lines = said.getvalue().splitlines()
    assert lines[-1] == "end: succeeded" and lines[-2].startswith("50/50 trainings best "), lines
    assert sweep.spec["space"]["/batch_size"] == {"values": [10, 50]} and sweep.metric == "validation.loss"
    assert [event["type"] for event in sweep.events()].count("trial") == 50
    return sweep


def read(client, sweep):
    """Trials, page by page, and tables of them."""
    epochd.sweep.PAGE_TRIALS = 10
    trials = list(sweep.trials())
    assert [trial["rank"] for trial in trials] == list(range(1, 26)) and trials[0]["trial"] == sweep.best["trial"]
    assert [trial["trial"] for trial in sweep.trials("trial", limit=12, offset=3)] == list(range(3, 15))
    assert list(sweep.trials(offset=25)) == [] and list(sweep.trials(limit=0)) == []
    assert sweep.trial(3)["job"]["optimizer"]["lr"] == sweep.trial(3)["values"]["/optimizer/lr"]
    table = sweep.table(limit=5)
    assert len(table) == 5 and table[0]["metric"] == sweep.best["metric"] and table[0]["deviation"] >= 0
    assert set(SPACE) < set(table[0]) and all(set(row) == set(table[0]) for row in table)
    lines = str(table).splitlines()
    assert len(lines) == 6 and lines[0].split()[:3] == ["rank", "trial", "metric"] and len(set(map(len, lines))) == 1
    root = xml.etree.ElementTree.fromstring(sweep._repr_html_())
    assert len(root.findall("table/tr")) == 11 and root.find("progress").get("value") == "1.0000"
    assert [one.id for one in client.sweeps(tags=["python"])] == [sweep.id] and client.get_sweep(sweep.id).name == "first"
    assert client.sweeps(state="failed") == [] and sweep.update(name="again").refresh().name == "again"


def promoted(sweep):
    """A trial becomes a job with weights."""
    job = sweep.promote(7)
    assert sweep.promote(7).id == job.id and job.tags == [sweep.id]
    assert job.wait().spec["optimizer"]["lr"] == sweep.trial(7)["values"]["/optimizer/lr"]
    assert sorted(sweep.weights(7)) == sorted(job.weights()) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert sorted(sweep.weights()) == ["0.bias", "0.weight", "2.bias", "2.weight"]


def refused(client):
    fault = raises(EpochdError, lambda: client.sweep(DISC, {"/optimizer/lr": [-1.0]}, folds=1))
    pointers = {pointer for pointer, _ in fault.errors}
    assert fault.status == 422 and "/folds" in pointers, fault.errors
    assert raises(EpochdError, lambda: client.get_sweep("swp_00000000000000000000000000")).status == 404
    count = client.validate({"job": DISC, "space": {"/seed": {"values": [1, 2, 3]}}, "search": "grid"})
    assert count["trials"] == 3 and count["trainings"] == 3, count


def stopped(client):
    """Paused, resumed, cancelled, deleted."""
    long = client.sweep(DISC, SPACE, max_trials=1_000_000)
    for event in long.events():
        if event["type"] == "trial":
            break
    assert long.pause().status in ("pausing", "paused")
    for event in long.events():
        if event["type"] == "paused":
            break
    assert long.resume().status in ("queued", "running", "pausing", "paused")
    long.cancel()
    assert raises(JobFailed, long.wait).job is long and long.status == "cancelled"
    assert len(list(long.trials(limit=1))) == 1
    long.delete()
    assert raises(EpochdError, long.refresh).status == 404


daemon = Client()
first = swept(daemon)
read(daemon, first)
promoted(first)
refused(daemon)
stopped(daemon)
print("ok: sweeps in Python")
