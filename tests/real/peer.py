"""peer.py: scikit-learn's pipeline on the same rows: medians and one-hot words, scaled, then a linear model or a network
with their defaults. Dates become numbers first: year, month, day of the year, weekday."""

import warnings

import numpy
import pandas
from sklearn.compose import make_column_transformer
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tables import MISSING, score

NAME_SHARE = 0.9  # of different words: they are names, which a person drops
ITERATIONS = 2000


def column_read(cells):
    """Numbers, else dates, else words; a list of columns."""
    cells = cells.map(lambda cell: numpy.nan if cell.strip() in MISSING else cell.strip())
    numbers = pandas.to_numeric(cells, errors="coerce")
    if numbers.isna().sum() == cells.isna().sum():
        return [numbers.astype(float)]
    dates = pandas.to_datetime(cells, errors="coerce") if cells.str.contains(r"\d\D\d", na=True).all() else numbers
    if dates.isna().sum() == cells.isna().sum():
        return [part.astype(float) for part in (dates.dt.year, dates.dt.month, dates.dt.dayofyear, dates.dt.weekday)]
    return [] if cells.nunique() > NAME_SHARE * cells.notna().sum() else [cells]


def columns_read(table):
    frame = pandas.DataFrame(table.rows)
    dropped = [table.target] + ([0] if table.file.row_names else [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = [part for index in frame.columns if index not in dropped for part in column_read(frame[index])]
    return pandas.concat(columns, axis=1, ignore_index=True).rename(columns=str)


def pipeline(frame, model):
    words = [name for name in frame.columns if frame[name].dtype == object]
    numbers = [name for name in frame.columns if name not in words]
    return make_pipeline(make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"),
                       OneHotEncoder(handle_unknown="ignore")), words)), model)


def models(file, seed):
    if not file.number:
        return {"linear": LogisticRegression(max_iter=ITERATIONS),
                "network": MLPClassifier(max_iter=ITERATIONS, random_state=seed)}
    return {name: TransformedTargetRegressor(model, transformer=StandardScaler()) for name, model in
            (("linear", Ridge()), ("network", MLPRegressor(max_iter=ITERATIONS, random_state=seed)))}


def scores(table, train, test, seed):
    """{"linear": …, "network": …}."""
    frame, out = columns_read(table), {}
    train = [row for row in train if table.rows[row][table.target].strip() not in MISSING]
    known = frame.iloc[train].notna().any()  # a column without a cell to learn from is none
    frame = frame[[name for name in frame.columns if known[name]]]
    targets = table.targets(train)
    if table.file.number:
        targets = numpy.array(targets, dtype=float)
    for name, model in models(table.file, seed).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = pipeline(frame, model).fit(frame.iloc[train], targets)
        out[name] = score(table.file, fitted.predict(frame.iloc[test]), table.targets(test))
    return out
