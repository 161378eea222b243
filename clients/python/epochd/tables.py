"""Tables: DataFrames, lists of dicts, and rows of values, as dicts of cells that JSON and CSV have."""
from __future__ import annotations

import csv
import io
import math
from typing import Any, Iterable, List, Mapping, Optional

# How tsv writes; marks of numbers and the order of dates are those of the caller's texts, and are found.
WRITTEN = {"encoding": "utf-8", "delimiter": "tab", "quote": '"', "header": True, "row_names": False, "preamble": 0,
           "comment": "none"}


def is_frame(value: Any) -> bool:
    """Whether it is a DataFrame: pandas', polars', or another with such methods."""
    return hasattr(value, "columns") and (hasattr(value, "to_dict") or hasattr(value, "to_dicts"))


def is_table(value: Any) -> bool:
    """Whether its columns have names: a DataFrame, or a list of dicts."""
    return is_frame(value) or (isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], Mapping))


def plain(values: Any) -> List[Any]:
    """A list of what an array, a column of a DataFrame, or an iterable holds."""
    if hasattr(values, "toarray"):  # SciPy's sparse matrices
        values = values.toarray()
    if not hasattr(values, "tolist") and hasattr(values, "__array__"):
        values = values.__array__()
    return values.tolist() if hasattr(values, "tolist") else list(values)


def rows_of(table: Any, names: Optional[List[str]] = None) -> List[Mapping[str, Any]]:
    """A table as dicts. Columns without names are called `names`, or x0, x1, …"""
    if is_frame(table):
        rows = table.to_dicts() if hasattr(table, "to_dicts") else table.to_dict("records")
        return [{str(column): value for column, value in row.items()} for row in rows]
    rows = plain(table)
    if rows and isinstance(rows[0], Mapping):
        return rows
    if any(isinstance(row, str) or not hasattr(row, "__iter__") for row in rows):
        raise ValueError("a table has two dimensions, rows and columns. Reshape your data: X.reshape(-1, 1) is a table of "
                         "one column, X.reshape(1, -1) one of one row")
    rows = [plain(row) for row in rows]
    width = len(names) if names else max(map(len, rows), default=0)
    if any(len(row) != width for row in rows):
        raise ValueError(f"X has {len(rows[0])} features, but {width} features are expected" if names else
                         "the rows of a table must have equal lengths")
    return [dict(zip(names or (f"x{at}" for at in range(width)), row)) for row in rows]


def cell(value: Any) -> Any:
    """As JSON has it: None for what is missing, dates as text."""
    if hasattr(value, "item"):
        value = value.item()
    try:
        if value is None or value != value or (isinstance(value, float) and math.isinf(value)):
            return None
    except TypeError:  # pandas.NA, which is equal to nothing, and not unequal either
        return None
    if isinstance(value, complex):
        raise ValueError("Complex data not supported")
    if isinstance(value, (Mapping, list, tuple, set)):
        raise TypeError(f"a cell's argument must be a string or a number, not a {type(value).__name__}")
    return value.isoformat() if hasattr(value, "isoformat") else value


def cells(rows: Iterable[Mapping[str, Any]]) -> List[Mapping[str, Any]]:
    return [{name: cell(value) for name, value in row.items()} for row in rows]


def tsv(rows: List[Mapping[str, Any]]) -> bytes:
    """Tabs between the cells, so that a comma within one may be that of a number: "93,5"."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t")
    writer.writerow(columns)
    for row in cells(rows):
        values = (row.get(column) for column in columns)
        writer.writerow([str(value).lower() if isinstance(value, bool) else value for value in values])
    return text.getvalue().encode()
