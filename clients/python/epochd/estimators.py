"""Estimators: fit, predict, predict_proba and score on tables: DataFrames, lists of dicts, rows of values."""
from __future__ import annotations

import csv
import io
import json
import math
import uuid
from typing import Any, Dict, Iterable, List, Mapping, Optional
from urllib.parse import quote, urlencode

from .arrays import number_of, numpy
from .client import Client
from .job import PREDICT_BYTES, PREDICT_ROWS, Job, warned

TARGET = "epochd target"
# How _csv writes; marks of numbers and the order of dates are those of the caller's texts, and are found.
WRITTEN = {"encoding": "utf-8", "delimiter": "tab", "quote": '"', "header": "true", "row_names": "false", "preamble": "0",
           "comment": "none"}


class _Estimator:
    """A first network for a table ("model": "auto"). `fields` are fields of the job that are to be others than
    the daemon would choose: seed=2, epochs=50, model={…}. After `fit`, `job_` is the job, with its metrics and spec."""

    _loss = ""

    def __init__(self, client: Optional[Client] = None, **fields: Any):
        self._client = client or Client()
        self._fields = fields
        self.job_: Optional[Job] = None

    def _fit(self, X: Any, targets: List[Any]) -> None:
        rows = _rows(X)
        if len(rows) != len(targets) or not rows:
            raise ValueError(f"X has {len(rows)} rows, y has {len(targets)}")
        self._columns = list(rows[0])
        name = f"fit-{uuid.uuid4()}"
        path = f"/v1/datasets/{quote(name)}"
        self._client._json("PUT", path + "?" + urlencode(WRITTEN), _csv(self._columns, rows, targets),
                           {"Content-Type": "text/tab-separated-values"})
        try:
            data = {"test": 0, **self._fields.get("data", {}), "dataset": name, "target": TARGET}
            spec = {"model": "auto", "loss": self._loss, **self._fields, "data": data}
            self.job_ = self._client.train(spec, progress=False)
        finally:
            self._client._bytes("DELETE", path)

    def _answers(self, X: Any) -> List[Dict[str, Any]]:
        """The responses for all rows, in pieces of what one request may carry."""
        if self.job_ is None:
            raise ValueError("this estimator is not fitted yet: call fit")
        rows = [{column: _cell(row[column]) for column in self._columns} for row in _rows(X)]
        piece = max(1, min(PREDICT_ROWS, PREDICT_BYTES // (2 * len(json.dumps(rows[0])) + 64))) if rows else 1
        return [warned(self._client._json("POST", f"{self.job_._path}/predict", {"rows": rows[first:first + piece]}, retry=True))
                for first in range(0, len(rows), piece)]


class Classifier(_Estimator):
    """A classifier: y holds classes, of any kind that can be sorted. `classes_` are those of `fit`, in order."""

    _loss = "cross_entropy"

    def fit(self, X: Any, y: Iterable[Any]) -> "Classifier":
        labels = _list(y)
        self.classes_ = sorted(set(labels))
        numbers = {label: number for number, label in enumerate(self.classes_)}
        self._fit(X, [f"class {numbers[label]}" for label in labels])
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        found = [self.classes_[_number(name)] for answer in self._answers(X) for name in answer["classes"]]
        return numpy.array(found) if numpy is not None else found

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the classes, [rows, classes], in the order of `classes_`."""
        rows = []
        for answer in self._answers(X):
            order = [_number(name) for name in answer["class_names"]]
            for given in answer["probabilities"]:
                row = [0.0] * len(self.classes_)
                for number, probability in zip(order, given):
                    row[number] = number_of(probability)
                rows.append(row)
        return numpy.array(rows) if numpy is not None else rows

    def score(self, X: Any, y: Iterable[Any]) -> float:
        """The share of rows whose class is right."""
        labels = _list(y)
        return sum(found == label for found, label in zip(_list(self.predict(X)), labels)) / len(labels)


class Regressor(_Estimator):
    """A regression: y holds numbers."""

    _loss = "mse"

    def fit(self, X: Any, y: Iterable[float]) -> "Regressor":
        self._fit(X, _list(y))
        return self

    def predict(self, X: Any) -> Any:
        """A number for each row."""
        found = [number_of(row[0]) for answer in self._answers(X) for row in answer["predictions"]]
        return numpy.array(found) if numpy is not None else found

    def score(self, X: Any, y: Iterable[float]) -> float:
        """R2: 1 is exact, 0 as good as the mean of y."""
        targets = _list(y)
        mean = sum(targets) / len(targets)
        rest = sum((target - found) ** 2 for target, found in zip(targets, _list(self.predict(X))))
        return 1 - rest / sum((target - mean) ** 2 for target in targets)


def _number(name: str) -> int:
    return int(name.split()[1])


def _list(values: Any) -> List[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _rows(X: Any) -> List[Mapping[str, Any]]:
    """A table as dicts: a DataFrame, dicts already, or rows of values, whose columns are x0, x1, …"""
    if hasattr(X, "to_dict") and hasattr(X, "columns"):
        return [{str(column): value for column, value in row.items()} for row in X.to_dict("records")]
    rows = _list(X)
    if rows and isinstance(rows[0], Mapping):
        return rows
    return [{f"x{at}": value for at, value in enumerate(_list(row))} for row in rows]


def _cell(value: Any) -> Any:
    """As JSON has it: None for what is missing, dates as text."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value != value or (isinstance(value, float) and math.isinf(value)):
        return None
    return value.isoformat() if hasattr(value, "isoformat") else value


def _csv(columns: List[str], rows: List[Mapping[str, Any]], targets: List[Any]) -> bytes:
    """Tabs between the cells, so that a comma within one may be that of a number: "93,5"."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t")
    writer.writerow([*columns, TARGET])
    for row, target in zip(rows, targets):
        cells = [_cell(row.get(column)) for column in columns]
        writer.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in cells] + [target])
    return text.getvalue().encode()
