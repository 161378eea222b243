#!/usr/bin/env python3
"""images.py FOLDER SIDE TRAIN TEST: a set of small images that a convolution learns quickly: bars
that lie (class 0), bars that stand (1), crosses (2), somewhere in the image, in noise.

Writes the four IDX files under MNIST's names, all four arrays as images.npz under Keras' names, and
rows.json: the first ten test images, each a list of bytes. Nothing but Python's own library.
"""
import gzip
import json
import os
import random
import struct
import sys
import zipfile

CLASSES = 3


def image(random_, side, label):
    pixels = [random_.randrange(60) for _ in range(side * side)]
    middle_y, middle_x = (random_.randrange(side // 4, side - side // 4) for _ in range(2))
    reach = side // 4
    for step in range(-reach, reach + 1):
        if label != 1:
            pixels[middle_y * side + middle_x + step] = random_.randrange(170, 256)
        if label != 0:
            pixels[(middle_y + step) * side + middle_x] = random_.randrange(170, 256)
    return bytes(pixels)


def idx(dimensions, values):
    return bytes([0, 0, 8, len(dimensions)]) + struct.pack(f">{len(dimensions)}I", *dimensions) + values


def npy(dimensions, values):
    shape = "(" + ", ".join(map(str, dimensions)) + ("," if len(dimensions) == 1 else "") + ")"
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values


def main():
    folder, side, counts = sys.argv[1], int(sys.argv[2]), [int(text) for text in sys.argv[3:5]]
    os.makedirs(folder, exist_ok=True)
    random_ = random.Random(7)
    archive = zipfile.ZipFile(os.path.join(folder, "images.npz"), "w", zipfile.ZIP_DEFLATED)
    for name, keras, count in zip(("train", "t10k"), ("train", "test"), counts):
        labels = bytes(random_.randrange(CLASSES) for _ in range(count))
        images = [image(random_, side, label) for label in labels]
        arrays = ("images-idx3", "x", (count, side, side), b"".join(images)), ("labels-idx1", "y", (count,), labels)
        for suffix, letter, dimensions, values in arrays:
            with gzip.open(os.path.join(folder, f"{name}-{suffix}-ubyte.gz"), "wb") as file:
                file.write(idx(dimensions, values))
            archive.writestr(f"{letter}_{keras}.npy", npy(dimensions, values))
    archive.close()
    with open(os.path.join(folder, "rows.json"), "w") as file:
        json.dump([list(one) for one in images[:10]], file)


if __name__ == "__main__":
    main()
