"""protocol.py: what the driver and a peer say to each other: one JSON object a line, by stdin and
stdout. A peer first says {"version": …} or {"absent": reason}; then it is asked

  {"do": "prepare", "work": WORK}     -> {"variants": {name: epoch_seconds}, "failed": {name: reason}}
                                         compiled and warm, or {"refused": reason}; with "seconds_max": S,
                                         what takes longer has failed
  {"do": "run", "name": …, "variant": …, "seconds_max": S}
                                      -> {"seconds", "epochs", "answer"}: trained from the first
                                         weights, for as many epochs as fit into S seconds
  {"do": "run", "name": …, "variant": …, "epochs": E}
                                      -> the same for E epochs, or a few fewer where it can't else; 0: what
                                         the first weights give
  {"do": "drop", "name": …}           -> {}: the work's memory is given back
  {"do": "ceilings"}                  -> what the device can do at most, measured

A WORK is what workloads.py describes. Where a peer cannot do a work, `prepare` raises Refused.
"""

import gc
import json
import os
import signal
import sys


class Refused(Exception):
    """This peer cannot do this work, and says why."""


class Variant:
    """One way in which a peer trains a work. `run(epochs)` trains anew from the first weights and gives
    (seconds of the loop alone, outputs of the training rows, outputs of the test rows); `unit` is what
    the number of epochs must be a multiple of."""

    def __init__(self, run, unit=1, chosen_epochs=None):
        self.run, self.unit, self.chosen_epochs = run, unit, chosen_epochs
        self.epoch_seconds = None

    def warm(self, epochs):
        """Runs once to compile, then once to know the rate."""
        few = self.chosen_epochs or self.unit * min(max(1, epochs // self.unit), 2)
        self.run(few)
        seconds = self.run(few)[0]
        self.epoch_seconds = seconds / few

    def epochs_near(self, epochs):
        """0 is 0, to look at the first weights."""
        unit = self.chosen_epochs or self.unit
        return max(1, epochs // unit) * unit if epochs else 0

    def epochs_within(self, seconds_max, epochs):
        if self.chosen_epochs:
            return self.chosen_epochs
        fitting = int(seconds_max / max(self.epoch_seconds, 1e-9))
        return min(epochs, max(self.unit, fitting // self.unit * self.unit))


def _said(error):
    return f"{type(error).__name__}: {str(error).strip()[:300]}"


def _late(*_):
    raise TimeoutError("took too long to prepare")


def _prepare(works, prepare, ask):
    from peers import data
    work = ask["work"]
    works.pop(work["name"], None)
    ready, failed = {}, {}
    # Python's own code is interrupted so; who stays in a library is the driver's to end.
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, ask.get("seconds_max", 0))
    try:
        table = data.load(work)
        variants = prepare(work, table)
        for name, variant in variants.items():
            try:
                variant.warm(work["epochs"])
                ready[name] = variant
            except Exception as error:  # a library's failure is a result, not the benchmark's end
                failed[name] = _said(error)
    except Refused as refusal:
        return {"refused": str(refusal)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    works[work["name"]] = (work, table, ready)
    return {"variants": {name: variant.epoch_seconds for name, variant in ready.items()},
            "failed": failed}


def _run(works, ask):
    from peers import data
    work, table, variants = works[ask["name"]]
    variant = variants[ask["variant"]]
    if "epochs" in ask:
        epochs = variant.epochs_near(ask["epochs"])
    else:
        epochs = variant.epochs_within(ask["seconds_max"], work["epochs"])
    seconds, out_train, out_test = variant.run(epochs)
    return {"seconds": seconds, "epochs": epochs, "answer": data.judge(work, table, out_train, out_test)}


def serve(version, prepare, ceilings=None):
    """Answers until stdin ends. What libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    works = {}
    say({"version": version})
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if ask["do"] == "prepare":
                say(_prepare(works, prepare, ask))
            elif ask["do"] == "run":
                say(_run(works, ask))
            elif ask["do"] == "drop":
                works.pop(ask["name"], None)
                gc.collect()
                say({})
            elif ask["do"] == "ceilings" and ceilings:
                say(ceilings())
            else:
                say({"refused": "unknown request"})
        except Exception as error:  # the driver decides what a failed run means
            say({"refused": _said(error)})


def absent(reason):
    """Says that this peer is not on this machine, and ends."""
    print(json.dumps({"absent": str(reason)}), flush=True)
    sys.exit(0)
