"""Arrays: NumPy's where it is installed, else lists; and the safetensors files that hold them."""
from __future__ import annotations

import array
import json
import math
import struct
import sys
from typing import Any, Dict, List, Mapping, Optional, Tuple

try:
    import numpy
except ImportError:
    numpy = None


def read_safetensors(content: bytes) -> Dict[str, Any]:
    """The tensors of a safetensors file: NumPy's arrays, or nested lists. Raises ValueError for any other file."""
    try:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8:8 + length])
    except (struct.error, ValueError):
        raise ValueError("not a safetensors file") from None
    tensors = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        first, last = tensor["data_offsets"]
        code, bits = _CODES.get(tensor["dtype"], (None, 0))
        count = math.prod(tensor["shape"])
        if code is None or not 0 <= first <= last <= len(content) - 8 - length or last - first != count * bits // 8:
            raise ValueError(f"safetensors: {name} does not match its header")
        values = array.array(code)
        values.frombytes(content[8 + length + first:8 + length + last])
        if sys.byteorder == "big":
            values.byteswap()
        if numpy is not None:
            tensors[name] = numpy.array(values, dtype=values.typecode).reshape(tensor["shape"])
        else:
            tensors[name] = _nest(values.tolist(), tensor["shape"])
    return tensors


# safetensors' types: the code of Python's arrays, and bits
_CODES = {"F32": ("f", 32), "F64": ("d", 64), "I8": ("b", 8), "U8": ("B", 8), "I16": ("h", 16), "U16": ("H", 16),
          "I32": ("i", 32), "U32": ("I", 32), "I64": ("q", 64), "U64": ("Q", 64), "BOOL": ("B", 8)}


def _nest(values: List[Any], shape: List[int]) -> Any:
    """A flat list as nested ones."""
    if not shape:
        return values[0]
    for size in reversed(shape[1:]):
        values = [values[at:at + size] for at in range(0, len(values), size)]
    return values


def _flat(value: Any) -> Tuple[List[int], str, bytes]:
    """(shape, safetensors' type, bytes) of an array: NumPy's, Python's, or nested lists of numbers."""
    if numpy is not None:
        whole = numpy.ascontiguousarray(value)
        if whole.ndim == 0 or whole.dtype.kind not in "fiub" or whole.dtype.itemsize > 8:
            raise ValueError("expected an array of numbers")
        name = "BOOL" if whole.dtype.kind == "b" else f"{whole.dtype.kind.upper()}{whole.dtype.itemsize * 8}"
        return list(numpy.shape(value)), name, whole.astype(whole.dtype.newbyteorder("<")).tobytes()
    shape: List[int] = []
    flat: List[Any] = [value]
    while flat and isinstance(flat[0], (list, tuple, array.array)):
        if any(not hasattr(part, "__len__") or len(part) != len(flat[0]) for part in flat):
            raise ValueError("the rows of an array must have equal lengths")
        shape.append(len(flat[0]))
        flat = [number for part in flat for number in part]
    if not shape:
        raise ValueError("expected an array of numbers")
    whole = all(isinstance(number, int) for number in flat)
    values = array.array("q" if whole else "d", flat)
    if sys.byteorder == "big":
        values.byteswap()
    return shape, "I64" if whole else "F64", values.tobytes()


def safetensors_header(arrays: Mapping[str, Any]) -> Tuple[bytes, List[bytes]]:
    """The head of a safetensors file, and the arrays' bytes that follow it."""
    header, contents, at = {}, [], 0
    for name, value in arrays.items():
        shape, kind, content = _flat(value)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(content)]}
        contents.append(content)
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, contents


def number_of(value: Any) -> Any:
    """JSON has no NaN: the daemon writes "NaN", "Infinity", "-Infinity"."""
    return float(value) if isinstance(value, str) else value


def array_of(values: List[Any]) -> Any:
    return numpy.array(values) if numpy is not None else values


def vector(values: Optional[List[Any]]) -> Any:
    """A list with nulls as an array."""
    if values is None:
        return None
    numbers = [number_of(value) for value in values]
    return numbers if numpy is None else numpy.array([math.nan if value is None else value for value in numbers])
