"""predicting.py: trains one epoch of a linear model on an upload, and compares predictions of the same rows: as JSON, in the
upload's dialect, and in another one whose keys are in the query."""

import dataclasses
import json
import time

from dialects import dialect as dialects
from dialects import reader, writers
from dialects.frames import seconds_of
from dialects.judge import Verdict

LARGEST = 1e12  # larger numbers are no features: their squares are not finite in float32
ROWS_MOST = 20
CLASSES_MOST = 12
PATIENCE_SECONDS = 240


def target_choose(r, frame):
    """The place of a column that can be learnt, and whether it is of classes; None: the table has none."""
    numbers, classes = [], []
    for place, column in enumerate(frame.columns):
        cells = {cell for cell in column.cells if cell is not None}
        if column.kind == "number" and not column.note_expected and len(cells) > 1 and is_feature(column):
            numbers.append(place)
        if column.kind == "word" and column.family == "classes" and 2 <= len(cells) <= CLASSES_MOST:
            classes.append(place)
    if classes and (not numbers or r.random() < 0.3):
        return r.choice(classes), True
    return (r.choice(numbers), False) if numbers else None


def is_feature(column):
    return column.kind != "number" or all(abs(float(cell)) < LARGEST for cell in column.cells if cell is not None)


def json_cell(r, column, row, described):
    """The cell as a program would send it."""
    cell = column.cells[row]
    if cell is None:
        return None
    kind = described["type"]
    if column.kind == "number":
        return float(cell)
    if column.kind == "flag":
        if kind == "number":
            return int(cell)
        return r.choice([cell, column.spelling[cell]]) if column.spelling != ("0", "1") else column.spelling[cell]
    if column.kind == "code":
        return float(cell) if kind == "number" else cell
    if column.kind == "word":
        return cell
    return iso(cell) if kind == "date" else str(cell)


def iso(cell):
    return cell.isoformat()


class Model:
    """The trained job; columns: with that of row names."""

    def __init__(self, client, name, found, frame, columns, r):
        self.client, self.found, self.frame, self.columns, self.r = client, found, frame, columns, r
        self.name, self.id = name, None
        self.left = len(columns) - len(frame.columns)  # row names

    def key(self, place):
        return self.found.columns[place]["name"] or str(place)

    def train(self):
        """Why there is no model; None where there is."""
        chosen = target_choose(self.r, self.frame)
        if not chosen or self.frame.rows < 12:
            return "no target"
        self.target, classes = chosen
        words = {cell for cell in self.frame.columns[self.target].cells if cell is not None}
        place = self.target + self.left
        # the rows of a prediction are numbered anew: their names are no feature
        excluded = [self.key(place) for place in range(self.left)]
        excluded += [self.key(other + self.left) for other, column in enumerate(self.frame.columns) if not is_feature(column)]
        data = {"dataset": self.name, "target": self.found.columns[place]["name"] or place, "test": 0}
        job = {"data": {**data, **({"exclude": excluded} if excluded else {})},
               "model": {"layers": [{"type": "linear", "out_features": len(words) if classes else 1}]},
               "loss": "cross_entropy" if classes else "mse", "epochs": 1, "batch_size": 32,
               "optimizer": {"type": "sgd", "lr": 0.01}}
        status, answer = self.client.json("POST", "/v1/jobs", job)
        if status != 201:
            return f"the job was answered {status}: {answer.get('detail')} {answer.get('errors')}"
        self.id, until = answer["id"], time.monotonic() + PATIENCE_SECONDS
        while answer["status"] not in ("succeeded", "failed", "cancelled"):
            if time.monotonic() > until:
                return "the job has not ended"
            status, answer = self.client.json("GET", f"/v1/jobs/{self.id}?wait=5")
        return None if answer["status"] == "succeeded" else f"the job {answer['status']}: {answer.get('error')}"

    def forget(self):
        if self.id:
            self.client.json("DELETE", f"/v1/jobs/{self.id}")

    def ask(self, body, kind, query=""):
        return self.client.ask("POST", f"/v1/jobs/{self.id}/predict{query}", body, {"Content-Type": kind})

    def truth(self, rows):
        objects = [{self.key(place): json_cell(self.r, column, row, self.found.columns[place])
                    for place, column in enumerate(self.columns) if place != self.target + self.left} for row in rows]
        return self.ask(json.dumps({"rows": objects}), "application/json")


def answer_of(status, text):
    """The numbers of an answer, as their texts; or why there are none."""
    answer = json.loads(text, parse_float=str)
    if status != 200:
        errors = "; ".join(f"{error['pointer']}: {error['detail']}" for error in answer.get("errors", [])[:2])
        return None, f"{status} {answer.get('detail')} {errors}"
    return answer["predictions"], json.dumps(answer.get("warnings") or "")


def compared(what, truth, answer):
    """The verdict of an answer beside that of JSON."""
    numbers, words = answer_of(*answer)
    if numbers is None:
        return Verdict("refused" if words.startswith("4") else "silent", f"{what}: {words}", what)
    if numbers == truth:
        return Verdict("ok", "", what)
    if len(numbers) != len(truth):
        return Verdict("silent", f"{what}: {len(numbers)} predictions for {len(truth)}", what)
    row = next(row for row, (one, other) in enumerate(zip(numbers, truth)) if one != other)
    return Verdict("noted" if len(words) > 4 else "silent",
                   f"{what}: row {row + 1} of {len(truth)}: {numbers[row][:3]} for {truth[row][:3]} {words}", what)


def repeatable(frame, upload):
    """The upload's dialect for other rows: what has a key of its own stays, what only a whole file shows is left out."""
    return dataclasses.replace(upload, units=None, repeats=[], footer=[], comments=dict(
        (place, texts) for place, texts in upload.comments.items() if place < 1))


def in_other_case(r, frame):
    """The same booleans, spelled otherwise; words among numbers, which have no key, are gaps."""
    def spelled(column):
        if column.kind != "flag" or r.random() < 0.5:
            return dataclasses.replace(column, odd={})
        change = r.choice([str.upper, str.lower])
        return dataclasses.replace(column, spelling=tuple(map(change, column.spelling)))
    return dataclasses.replace(frame, columns=[spelled(column) for column in frame.columns])


def files(model, upload, data, rows):
    """(what, bytes, query, frame, dialect) of each request that has to be answered as JSON is."""
    r, frame = model.r, model.frame
    picked = frame.pick(rows)
    own = repeatable(picked, upload)
    yield "upload's dialect", writers.written(r, picked, own)[0], "", picked, own
    yield "file of the upload", data, "", frame, upload
    picked = in_other_case(r, picked)
    other = dialects.dialect_for_rows(r, picked, upload)
    body = writers.written(r, picked, other)[0]
    yield "other dialect", body, "?" + other.query(picked), picked, other


def wrong_number(model, rows):
    """The rows with one number changed, for the canary; None where no feature is one."""
    picked = model.frame.pick(rows)
    for place, column in enumerate(picked.columns):
        whole = model.frame.columns[place]
        values = {cell for cell in whole.cells if cell is not None}
        usable = len(values) > 1 and is_feature(whole) and not whole.note_expected
        if column.kind == "number" and place != model.target and usable:
            for row, cell in enumerate(column.cells):
                if cell is not None and model.found.columns[place + model.left]["type"] == "number":
                    cells = list(column.cells)
                    cells[row] = repr(float(cell) + 3 * max(abs(float(value)) for value in values) + 1)
                    picked.columns[place] = dataclasses.replace(column, cells=cells)
                    return picked
    return None


def predictions_judge(model, upload, data, keep):
    """Verdicts, and whether the canary was found: None where it was not tried. keep(what, bytes, query): stores a file."""
    r = model.r
    rows = sorted(r.sample(range(model.frame.rows), r.randrange(1, min(ROWS_MOST, model.frame.rows) + 1)))
    verdicts, canary = [], None
    truths = {}
    for part in (rows, list(range(model.frame.rows))):
        numbers, words = answer_of(*model.truth(part))
        if numbers is None:
            return [Verdict("refused" if words.startswith("4") else "silent", f"JSON rows: {words}", "JSON rows")], None
        truths[len(part)] = numbers
    for what, body, query, frame, dialect in files(model, upload, data, rows):
        wrong = reader.difference(body, dialect, frame)
        if wrong:
            return [Verdict("harness", f"the reference reader: {what}: {wrong} {describe(dialect)}", what)], None
        verdict = compared(what, truths[frame.rows], model.ask(body, "text/csv", query))
        verdicts.append(verdict)
        if verdict.kind != "ok":
            verdict.reason += f" {query} {describe(dialect)}"
            keep(what, body)
            continue
        wrong = wrong_number(model, rows) if what == "other dialect" else None
        if wrong:
            body = writers.written(r, wrong, dialect)[0]
            answer = model.ask(body, "text/csv", query)
            canary = compared(what, truths[frame.rows], answer).kind != "ok"
    return verdicts, canary


def describe(dialect):
    axes = dialect.axes()
    plain = dialects.Dialect().axes()
    return "[" + ", ".join(f"{axis} {value}" for axis, value in axes.items() if value != plain[axis]) + "]"
