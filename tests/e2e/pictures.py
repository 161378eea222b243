#!/usr/bin/env python3
"""pictures.py FOLDER SIDE TRAIN TEST: the pictures of images.py as PNG files in class folders.

Writes pets.zip (train/ and test/ with class folders, all in one folder, with what systems leave behind),
pets-pax.tar and pets-gnu.tar (the same), escape.zip and escape.tar (a name that leads out), bomb.zip (a header of 50,000 x 50,000 pixels), damaged.zip, one.zip (one
class), and rows.json: the test pictures in the order of their rows, each a list of bytes. Nothing but
Python's own library.
"""
import io
import json
import os
import random
import struct
import sys
import tarfile
import zipfile
import zlib

import images

NAMES = ["lying", "standing", "cross"]  # of the labels of images.py


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(height, width, pixels):
    """Grey, 8 bits; pixels: bytes, row by row."""
    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def archive(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files:
            out.writestr(name, content)


def tape(path, files, form):
    """A TAR as `tar -C FOLDER .` writes it; the folders' names are longer than a header's field."""
    with tarfile.open(path, "w", format=form) as out:
        for name, content in [("./", None)] + [(f"./{'long' * 40}/{name}", content) for name, content in files]:
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            info.size = len(content or b"")
            out.addfile(info, io.BytesIO(content or b""))
        link = tarfile.TarInfo("./elsewhere.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        out.addfile(link)


def main():
    folder, side, counts = sys.argv[1], int(sys.argv[2]), [int(text) for text in sys.argv[3:5]]
    os.makedirs(folder, exist_ok=True)
    random_ = random.Random(11)
    files, tests = [], []
    for split, count in zip(("train", "test"), counts):
        for i in range(count):
            label = i % images.CLASSES
            pixels = images.image(random_, side, label)
            name = f"pets/{split}/{NAMES[label]}/{i:04d}.png"
            files.append((name, png(side, side, pixels)))
            if split == "test":
                tests.append((NAMES[label], name, list(pixels)))
    random_.shuffle(files)  # rows are in the order of names, not of the archive
    files += [("__MACOSX/pets/._train", b"x"), ("pets/train/.DS_Store", b"x"), ("pets/readme.txt", b"x")]
    archive(os.path.join(folder, "pets.zip"), files)
    tape(os.path.join(folder, "pets-pax.tar"), files, tarfile.PAX_FORMAT)
    tape(os.path.join(folder, "pets-gnu.tar"), files, tarfile.GNU_FORMAT)
    with tarfile.open(os.path.join(folder, "escape.tar"), "w") as out:
        for name in ("a/1.png", "../b/2.png"):
            out.addfile(tarfile.TarInfo(name))
    one = png(2, 2, bytes(4))
    bomb = one[:16] + struct.pack(">II", 50000, 50000) + one[24:29]
    bomb += struct.pack(">I", zlib.crc32(bomb[12:29])) + one[33:]
    for name, second in (("escape", ("../b/2.png", one)), ("bomb", ("b/2.png", bomb)),
                         ("damaged", ("b/2.png", one[:-20])), ("one", ("a/2.png", one))):
        archive(os.path.join(folder, f"{name}.zip"), [("a/1.png", one), second])
    with open(os.path.join(folder, "rows.json"), "w") as file:
        json.dump([pixels for _, _, pixels in sorted(tests)], file)


if __name__ == "__main__":
    main()
