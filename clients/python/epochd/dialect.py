"""How a delimited text is written, as keyword arguments: those that an upload and a prediction share."""
from __future__ import annotations

import json
import re
from typing import Any, Dict, Mapping

KEYS = ("encoding", "delimiter", "quote", "header", "row_names", "preamble", "comment", "decimal", "thousands", "missing",
        "dates")


def dialect_query(dialect: Mapping[str, Any]) -> Dict[str, str]:
    """The query parameters of these keys, each as a dataset's `dialect` has it; without those that are None."""
    unknown = [key for key in dialect if key not in KEYS]
    if unknown:
        raise TypeError(f"{unknown[0]!r} is not a key of a dialect: {', '.join(KEYS)}")
    return {key: _text(value) for key, value in dialect.items() if value is not None}


def worded(text: str) -> str:
    """A text of the daemon: "?decimal=,", a query parameter, becomes decimal=",", a keyword argument."""
    return re.sub(r"[?&]([a-z_]+)=([\w-]+|[^\w\s](?=\s|$))?", _argument, text)


def _argument(asked: "re.Match[str]") -> str:
    value = asked[2] or ""
    plain = {"true": "True", "false": "False"}.get(value, value if value.isdecimal() else json.dumps(value) if value else "")
    return f"{', ' if asked[0][0] == '&' else ''}{asked[1]}={plain}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple, set)):
        return ",".join(sorted(map(str, value)) if isinstance(value, set) else map(str, value))
    return str(value)
