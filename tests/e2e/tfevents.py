#!/usr/bin/env python3
"""tfevents.py FILE [CURVE.json]: reads an event file of TensorBoard with nothing but Python: the
record format with its checksums, then the messages in it. With a curve, as ?format=json answers it,
every figure must be the same. Prints what the file holds; exits 1 if anything is wrong with it."""

import json
import math
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The messages of a file; ValueError where a checksum or a length is wrong."""
    at = 0
    while at < len(data):
        if len(data) - at < 16:
            raise ValueError(f"a record at {at} is cut")
        length, check = struct.unpack_from("<QI", data, at)
        if check != masked(data[at:at + 8]):
            raise ValueError(f"the length at {at} does not fit its checksum")
        end = at + 12 + length
        if end + 4 > len(data):
            raise ValueError(f"a record at {at} is cut")
        message = data[at + 12:end]
        if struct.unpack_from("<I", data, end)[0] != masked(message):
            raise ValueError(f"the record at {at} does not fit its checksum")
        yield message
        at = end + 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of a message in the protobuf wire format."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a field is cut")
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            raise ValueError(f"wire type {kind}")
        yield key >> 3, value


def scalars(data):
    """tag -> [(step, wall time, figure), …]; the first record must say the version."""
    found = {}
    for number, message in enumerate(records(data)):
        event = dict(fields(message))
        if number == 0:
            if event.get(3) != b"brain.Event:2":
                raise ValueError(f"the first record is no version: {event}")
            continue
        for key, value in fields(event[5]):
            if key == 1:
                scalar = dict(fields(value))
                found.setdefault(scalar[1].decode(), []).append((event.get(2, 0), event[1], scalar[2]))
    return found


def figures(curve, name):
    """[(epoch, figure), …] of a curve's column, where there is one."""
    words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    column = curve[name] or [None] * len(curve["epoch"])
    return [(epoch, words.get(value, value)) for epoch, value in zip(curve["epoch"], column)
            if value is not None]


def same(found, wanted):
    """A figure of 32 bits, and the double it was made from."""
    if math.isnan(wanted) or math.isinf(wanted):
        return math.isnan(found) == math.isnan(wanted) and (math.isnan(found) or found == wanted)
    return not math.isnan(found) and abs(found - wanted) <= abs(wanted) * 6e-8 + 1e-45


def compare(found, curve):
    for tag, name in (("loss/train", "loss"), ("loss/validation", "validation_loss"),
                      ("error/train", "error"), ("error/validation", "validation_error"),
                      ("train/elapsed_seconds", "elapsed_seconds")):
        there, wanted = found.get(tag, []), figures(curve, name)
        if [step for step, _, _ in there] != [epoch for epoch, _ in wanted]:
            raise ValueError(f"{tag} has {len(there)} steps, the curve's {name} {len(wanted)}")
        for (step, _, value), (_, figure) in zip(there, wanted):
            if not same(value, figure):
                raise ValueError(f"{tag} at {step} is {value}, the curve has {figure}")


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    assert crc32c(b"123456789") == 0xE3069283 and not same(math.nan, 1) and not same(1, 1.001)
    try:
        found = scalars(data)
        if len(sys.argv) > 2:
            with open(sys.argv[2], encoding="utf-8") as text:
                compare(found, json.load(text))
    except (ValueError, IndexError, KeyError, struct.error) as fault:
        sys.exit(f"no event file as it should be: {fault}")
    for tag, there in sorted(found.items()):
        walls = [wall for _, wall, _ in there]
        if walls != sorted(walls) or not 1.7e9 < walls[0] < 1e10:
            sys.exit(f"{tag}: the times are {walls[:3]} …")
        print(f"{tag}: {len(there)} figures, the last at step {there[-1][0]}: {there[-1][2]:.6g}")


if __name__ == "__main__":
    main()
