#!/usr/bin/env python3
"""sklearn_checks.py: scikit-learn's checks of clients/python/epochd. EPOCHD says where the daemon is."""
import warnings

import numpy
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from epochd import Classifier, Regressor

for estimator in (Classifier(), Regressor()):
    count = 0
    for each, check in check_estimator(estimator, generate_only=True):
        try:
            check(each)
        except Exception as error:
            raise AssertionError(f"{estimator}: {check} failed") from error
        count += 1
    assert count > 30
    print(f"ok: {count} checks of {estimator}")

assert is_classifier(Classifier()) and is_regressor(Regressor())
X = numpy.random.default_rng(1).uniform(size=(60, 2))
y = 3 * X[:, 0] - X[:, 1]
searched = GridSearchCV(Regressor(epochs=60), {"optimizer__lr": [1e-9, 0.02]}, cv=2).fit(X, y)
assert searched.best_params_ == {"optimizer__lr": 0.02} and searched.best_estimator_.job_.spec.optimizer.lr == 0.02
model = make_pipeline(StandardScaler(), Classifier(epochs=60))
assert cross_val_score(model, X, (y > 1).astype(int), cv=2, scoring="roc_auc").min() > 0.8
assert clone(model).get_params()["classifier__epochs"] == 60
print("ok: a search, a pipeline")

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    Regressor(epochs=1).fit(X, y[:, None])
assert [warning.category for warning in said] == [DataConversionWarning]
try:
    Classifier().predict(X)
    raise AssertionError("an estimator without a fit predicts")
except NotFittedError:
    print("ok: its warning, and its error")

try:
    import pandas
except ImportError:
    print("no pandas here: no DataFrame was tested")
else:
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "when": pandas.date_range("2024-01-01", periods=60),
                              "town": pandas.Series(["Ulm", None, "Bonn"] * 20, dtype="string")})
    fitted = Regressor(epochs=60).fit(frame, pandas.Series(y))
    assert list(fitted.feature_names_in_) == ["a", "b", "when", "town"] and fitted.score(frame, y) > 0.5
    assert numpy.array_equal(fitted.predict(frame), fitted.predict(frame[["town", "when", "b", "a"]]))
    client = fitted.job_._client
    stored = client.upload("frame", frame.set_index("when"))
    assert [column.name for column in stored.columns] == ["when", "a", "b", "town"] and stored.rows == 60
    job = client.train(frame.assign(y=y), False, target="y", name="frame-y", epochs=60)
    assert job.predict(frame).shape == (60,) and job.metrics.test.r2 > 0
    print("ok: DataFrames")
