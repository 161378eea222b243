#!/usr/bin/env python3
"""arrays.py FOLDER: small images as IDX, NPY, NPZ, safetensors and CSV, good and hostile, with nothing
but Python's own modules. An image of 6 x 6 bytes has a bright square in one of its quarters: its
class."""

import gzip
import json
import pathlib
import random
import struct
import sys
import zipfile

SIDE, HALF = 6, 3
IDX_TYPES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}
CODES = {"u1": "B", "i1": "b", "i2": "h", "i4": "i", "f4": "f", "f8": "d", "i8": "q"}
WORDS = {"u1": "U8", "i4": "I32", "i8": "I64", "f4": "F32", "f8": "F64"}


def images(rows, seed):
    """Pixels of all rows, and the classes."""
    source, x, y = random.Random(seed), [], []
    for _ in range(rows):
        label = source.randrange(4)
        down, right = divmod(label, 2)
        x += [source.randrange(190, 256) if (i // HALF, j // HALF) == (down, right)
              else source.randrange(60) for i in range(SIDE) for j in range(SIDE)]
        y.append(label)
    return x, y


def packed(values, dtype, order="<"):
    return struct.pack(f"{order}{len(values)}{CODES[dtype]}", *values)


def idx(values, dtype, *shape):
    head = bytes([0, 0, IDX_TYPES[dtype], len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    return head + packed(values, dtype, ">")


def npy(values, dtype, *shape):
    """values: numbers, or bytes as they are."""
    order = "|" if dtype == "u1" else "<"
    sides = "".join(f"{side}, " for side in shape)
    text = f"{{'descr': '{order}{dtype}', 'fortran_order': False, 'shape': ({sides}), }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    data = values if isinstance(values, bytes) else packed(values, dtype)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def npz(path, arrays, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as entry:  # as NumPy does
                entry.write(array)


def safetensors(tensors):
    head, body = {}, b""
    for name, (values, dtype, shape) in tensors.items():
        data = packed(values, dtype)
        head[name] = {"dtype": WORDS[dtype], "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + body


def one_hot(y):
    return [int(label == column) for label in y for column in range(4)]


def lie(path, out, entry_bytes):
    """The archive with another size for its only entry, wherever it stands."""
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        true = struct.pack("<I", archive.infolist()[0].file_size)
    at = data.rindex(b"PK\x01\x02")
    assert data[at + 24:at + 28] == true
    data[at + 24:at + 28] = struct.pack("<I", entry_bytes)
    out.write_bytes(data)


def main(folder):
    x, y = images(400, 1)
    x_test, y_test = images(100, 2)
    row = (SIDE, SIDE)
    files = {
        "train-images-idx3-ubyte": idx(x, "u1", 400, *row),
        "train-labels-idx1-ubyte": idx(y, "u1", 400),
        "t10k-images-idx3-ubyte": idx(x_test, "u1", 100, *row),
        "t10k-labels-idx1-ubyte": idx(y_test, "u1", 100),
        "y.npy": npy(y, "i8", 400),
        "y_one_hot.npy": npy(one_hot(y), "u1", 400, 4),
        "y_test_one_hot.npy": npy(one_hot(y_test), "u1", 100, 4),
        "y_short.npy": npy(y[:399], "u1", 399),
        "y.csv": "".join(f"{label}\n" for label in y).encode(),
        "x_float.npy": npy([value / 255 for value in x], "f4", 400, 1, *row),
        "x_cut.npy": npy(x, "u1", 400, *row)[:-1],
        "data.safetensors": safetensors({"x_train": (x, "u1", [400, *row]), "y_train": (y, "i8", [400]),
                                         "x_test": (x_test, "u1", [100, *row]), "y_test": (y_test, "i4", [100])}),
        "weights.safetensors": safetensors({"0.weight": ([0.5] * 144, "f4", [4, 36]), "0.bias": ([0.0] * 4, "f4", [4])}),
        "half.safetensors": struct.pack("<Q", 64) + json.dumps(
            {"x": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}).encode().ljust(64) + b"\0\0",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
        (folder / f"{name}.gz").write_bytes(gzip.compress(data))
    arrays = {"x_train": npy(x, "u1", 400, *row), "y_train": npy(y, "u1", 400),
              "x_test": npy(x_test, "u1", 100, *row), "y_test": npy(y_test, "u1", 100)}
    npz(folder / "keras.npz", arrays)
    npz(folder / "stored.npz", arrays, zipfile.ZIP_STORED)
    npz(folder / "unknown.npz", dict(arrays, more=arrays["y_test"]))
    npz(folder / "lone.npz", {"x_train": arrays["x_train"]})
    npz(folder / "bomb.npz", {"x": npy(bytes(30000000), "u1", 30000000)})
    lie(folder / "lone.npz", folder / "less.npz", 1000)
    lie(folder / "lone.npz", folder / "more.npz", 100000)


main(pathlib.Path(sys.argv[1]))
