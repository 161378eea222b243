#!/usr/bin/env python3
"""weights.py WEIGHTS ROWS PREDICTED: compares the weights' predictions of rows of x with the daemon's.

WEIGHTS is a safetensors file as served; ROWS a JSON list of rows; PREDICTED a JSON list of numbers.
Nothing but Python's own library: safetensors is 8 bytes of length, a JSON header, then the numbers.
"""
import json
import math
import struct
import sys


def read(path):
    raw = open(path, "rb").read()
    length, = struct.unpack("<Q", raw[:8])
    header, body = json.loads(raw[8:8 + length]), raw[8 + length:]
    metadata, tensors = header.pop("__metadata__"), {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", entry
        first, last = entry["data_offsets"]
        tensors[name] = entry["shape"], struct.unpack(f"<{(last - first) // 4}f", body[first:last])
    return metadata, tensors


ACTIVATIONS = {"relu": lambda v: max(v, 0.0), "tanh": math.tanh, "sin": math.sin,
               "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
               "gelu": lambda v: v * (1 + math.erf(v / math.sqrt(2))) / 2,
               "leaky_relu": lambda v: v if v > 0 else 0.01 * v}


def forward(layers, tensors, row):
    for index, layer in enumerate(layers):
        if layer["type"] != "linear":
            row = [ACTIVATIONS[layer["type"]](value) for value in row]
            continue
        (outs, ins), weight = tensors[f"{index}.weight"]
        bias = tensors[f"{index}.bias"][1]
        row = [bias[o] + sum(weight[o * ins + i] * row[i] for i in range(ins)) for o in range(outs)]
    return row


def main():
    metadata, tensors = read(sys.argv[1])
    layers = json.loads(metadata["spec"])["model"]["layers"]

    def figures(name):
        return json.loads(metadata[name]) if metadata.get(name, "null") != "null" else None

    worst = 0.0
    rows, predicted = json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))
    assert len(rows) == len(predicted) > 0
    for row, said in zip(rows, predicted):
        if figures("x_mean"):
            row = [(v - m) / d for v, m, d in zip(row, figures("x_mean"), figures("x_deviation"))]
        out, = forward(layers, tensors, row)
        if figures("y_mean"):
            out = out * figures("y_deviation")[0] + figures("y_mean")[0]
        assert math.isfinite(out) and math.isfinite(said)
        worst = max(worst, abs(out - said) / max(1.0, abs(out)))
    print(f"{len(rows)} rows, greatest difference {worst:.2e}")
    sys.exit(0 if worst < 1e-5 else 1)


if __name__ == "__main__":
    main()
