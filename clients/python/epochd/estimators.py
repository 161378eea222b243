"""Estimators as scikit-learn's: fit, predict, predict_proba and score on tables: DataFrames, lists of dicts, rows of
values."""
from __future__ import annotations

import sys
import uuid
import warnings
from typing import Any, Dict, List, Optional
from urllib.parse import quote

from .arrays import array_of, number_of
from .client import Client
from .job import Job
from .tables import cell, cells, is_frame, is_table, plain, rows_of

TARGET = "epochd target"


class _Estimator:
    """A first network for a table ("model": "auto"). `fields` are fields of the job that are to be others than
    the daemon would choose: seed=2, epochs=50, model={…}, optimizer__lr=0.1. After `fit`, `job_` is the job, with its
    metrics and spec. `client` is Client() unless given; `verbose` draws the progress."""

    _estimator_type = _loss = ""
    job_: Job

    def __init__(self, client: Optional[Client] = None, verbose: bool = False, **fields: Any):
        vars(self).update(fields, client=client, verbose=verbose)

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_") and not name.endswith("_")}

    def set_params(self, **params: Any) -> Any:
        vars(self).update(params)
        return self

    def __repr__(self) -> str:
        given = {name: value for name, value in self.get_params().items() if value is not None and value is not False}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def _repr_html_(self) -> Optional[str]:
        return self.job_._repr_html_() if hasattr(self, "job_") else None

    def _more_tags(self) -> Dict[str, Any]:
        """What scikit-learn before 1.6 is to know."""
        return {"allow_nan": True, "requires_y": True}

    def __sklearn_tags__(self) -> Any:
        """The same, since 1.6."""
        from sklearn import utils  # it is what asks
        tags = utils.Tags(estimator_type=self._estimator_type, target_tags=utils.TargetTags(required=True),
                          input_tags=utils.InputTags(allow_nan=True))
        setattr(tags, f"{self._estimator_type}_tags", getattr(utils, f"{self._estimator_type.title()}Tags")())
        return tags

    def _fit(self, X: Any, targets: List[Any]) -> Any:
        rows = rows_of(X)
        if len(rows) != len(targets):
            raise ValueError(f"X has {len(rows)} rows, y has {len(targets)}")
        if len(rows) < 2:
            raise ValueError(f"n_samples={len(rows)}: at least two rows are required")
        columns = list(dict.fromkeys(name for row in rows for name in row))
        if not columns:
            raise ValueError(f"0 feature(s) (shape=({len(rows)}, 0)) while a minimum of 1 is required.")
        spec: Dict[str, Any] = {"name": type(self).__name__, "model": "auto", "loss": self._loss}
        for name, value in self.get_params().items():
            if name not in ("client", "verbose"):
                _put(spec, name, value)
        client = self.client or Client()
        name = f"fit-{uuid.uuid4()}"
        client.upload(name, [{**row, TARGET: target} for row, target in zip(rows, targets)])
        try:
            spec["data"] = {"test": 0, **spec.get("data", {}), "dataset": name}
            self.job_ = client.train(spec, self.verbose, target=TARGET)
        finally:
            client._bytes("DELETE", f"/v1/datasets/{quote(name)}")
        self._columns, self.n_features_in_ = columns, len(columns)
        vars(self).pop("feature_names_in_", None)
        if is_table(X) and (not is_frame(X) or all(isinstance(column, str) for column in X.columns)):
            self.feature_names_in_ = array_of(columns)
        return self

    def _answers(self, X: Any) -> List[Dict[str, Any]]:
        """The responses for all rows."""
        if not hasattr(self, "job_"):
            raise _sklearn("NotFittedError", ValueError)(f"this {type(self).__name__} is not fitted yet: call fit")
        rows = rows_of(X, self._columns)
        for column in self._columns:
            if rows and not any(column in row for row in rows):
                raise ValueError(f"X lacks the feature {column!r}")
        return self.job_._answers("rows", cells({column: row.get(column) for column in self._columns} for row in rows))


class Classifier(_Estimator):
    """A classifier: y holds classes, of any kind that can be sorted. `classes_` are those of `fit`, in order."""

    _estimator_type, _loss = "classifier", "cross_entropy"

    def fit(self, X: Any, y: Any) -> "Classifier":
        labels = _targets(y)
        if any(isinstance(label, float) and label != int(label) for label in labels):
            raise ValueError("Unknown label type: continuous numbers; use a Regressor")
        classes = sorted(set(labels))
        if len(classes) == 1:
            raise ValueError("y has 1 class: at least two are required")
        numbers = {label: number for number, label in enumerate(classes)}
        self._fit(X, [f"class {numbers[label]}" for label in labels])
        self.classes_ = array_of(classes)
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        return array_of([self.classes_[_number(name)] for answer in self._answers(X) for name in answer["classes"]])

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
        return array_of(rows)

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose class is right."""
        labels = _targets(y)
        return sum(found == label for found, label in zip(plain(self.predict(X)), labels)) / len(labels)


class Regressor(_Estimator):
    """A regression: y holds numbers."""

    _estimator_type, _loss = "regressor", "mse"

    def fit(self, X: Any, y: Any) -> "Regressor":
        return self._fit(X, _targets(y))

    def predict(self, X: Any) -> Any:
        """A number for each row."""
        return array_of([number_of(row[0]) for answer in self._answers(X) for row in answer["predictions"]])

    def score(self, X: Any, y: Any) -> float:
        """R2: 1 is exact, 0 as good as the mean of y."""
        targets = _targets(y)
        mean = sum(targets) / len(targets)
        rest = sum((target - found) ** 2 for target, found in zip(targets, plain(self.predict(X))))
        whole = sum((target - mean) ** 2 for target in targets)
        return 1 - rest / whole if whole else float(rest == 0)


def _put(spec: Dict[str, Any], name: str, value: Any) -> None:
    """A field of the job; optimizer__lr is /optimizer/lr."""
    first, _, rest = name.partition("__")
    if rest:
        spec[first] = dict(spec.get(first, {}))
        _put(spec[first], rest, value)
    else:
        spec[name] = value


def _sklearn(name: str, otherwise: type) -> type:
    """An exception of scikit-learn, where the program has loaded it."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, otherwise)


def _number(name: str) -> int:
    return int(name.split()[1])


def _targets(y: Any) -> List[Any]:
    """One target a row; a column of them, [rows, 1], counts as that."""
    if y is None:
        raise ValueError("a fit requires y to be passed, but the target y is None")
    if is_frame(y):
        y = [list(row.values()) for row in rows_of(y)]
    targets = plain(y)
    if any(isinstance(target, (list, tuple)) or hasattr(target, "__array__") for target in targets):
        targets = [plain(target) for target in targets]
        if any(len(target) != 1 for target in targets):
            raise ValueError("y has several columns: one target is supported")
        warnings.warn("A column-vector y was passed when a 1d array was expected.",
                      _sklearn("DataConversionWarning", UserWarning), stacklevel=3)
        targets = [target[0] for target in targets]
    targets = [target.item() if hasattr(target, "item") else target for target in targets]
    if any(cell(target) is None for target in targets):
        raise ValueError("y has missing or infinite values")
    return targets
