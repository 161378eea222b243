#!/usr/bin/env python3
"""exports.py WEIGHTS NPZ JSON: the same tensors, bit by bit, in all three.

Python's own library reads them: an NPZ file is a ZIP archive of NPY files, which are a magic word, a
Python literal and the numbers. Where NumPy is installed, it must read the archive too.
"""
import ast
import json
import struct
import sys
import zipfile

sys.dont_write_bytecode = True
from weights import read  # noqa: E402


def npy(raw):
    assert raw[:8] == b"\x93NUMPY\x01\x00", raw[:8]
    length, = struct.unpack("<H", raw[8:10])
    assert (10 + length) % 64 == 0 and raw[9 + length:10 + length] == b"\n"
    header = ast.literal_eval(raw[10:10 + length].decode("ascii").strip())
    assert header["descr"] == "<f4" and header["fortran_order"] is False, header
    return list(header["shape"]), raw[10 + length:]


def flat(nested, depth):
    return nested if depth == 1 else [value for part in nested for value in flat(part, depth - 1)]


def main():
    weights, archive, document = sys.argv[1:]
    tensors = read(weights)[1]
    expected = {name: (shape, struct.pack(f"<{len(values)}f", *values))
                for name, (shape, values) in tensors.items()}
    with zipfile.ZipFile(archive) as files:
        assert files.testzip() is None, "a checksum is wrong"
        assert files.namelist() == [name + ".npy" for name in expected], files.namelist()
        for name, tensor in expected.items():
            assert npy(files.read(name + ".npy")) == tensor, name
    said = json.load(open(document))["tensors"]
    assert list(said) == list(expected), list(said)
    for name, (shape, raw) in expected.items():
        assert said[name]["shape"] == shape, name
        values = flat(said[name]["data"], len(shape))
        assert struct.pack(f"<{len(values)}f", *values) == raw, name
    try:
        import numpy
    except ImportError:
        print(f"{len(expected)} tensors; NumPy is not installed")
        return
    with numpy.load(archive, allow_pickle=False) as arrays:
        for name, (shape, raw) in expected.items():
            assert list(arrays[name].shape) == shape and arrays[name].tobytes() == raw, name
    print(f"{len(expected)} tensors, NumPy {numpy.__version__} reads them")


main()
