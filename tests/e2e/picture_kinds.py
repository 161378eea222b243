#!/usr/bin/env python3
"""picture_kinds.py FOLDER: archives of pictures as cameras, other systems and careless hands make them.

deep.zip: PNGs of 16 bits, whose values lie between 274 and 326; "dim" are below 300, "bright" above. one.png is
another dim one, and two.zip has it beside a picture from 0 to 65535. turned.zip: the dark half lies on the "left" or
at the "top"; half of the pictures are stored on their side, and EXIF says so. left.png and left-turned.png are the
same as they are viewed. NAMES.zip of each pair of SPLITS: two classes, 6 and 2 pictures of each. dos.zip: with
backslashes. nfc.zip: a class whose name is composed in train/ and decomposed in test/. broken.zip: five of nine
cannot be read. many.zip: 20 of 24.
"""
import os
import random
import struct
import sys
import unicodedata
import zipfile
import zlib

from pictures import chunk

SPLITS = [("Training", "Testing"), ("training_set", "test_set"), ("train_set", "valid_set"), ("seg_train", "seg_test"),
          ("seg_train/seg_train", "seg_test/seg_test")]


def png(rows, deep=False, orientation=None):
    """Grey. rows: lists of values. orientation: of EXIF."""
    tiff = orientation and (b"MM\0*" + struct.pack(">IHHHIHH", 8, 1, 0x0112, 3, 1, orientation, 0))
    raw = b"".join(b"\0" + struct.pack(f">{len(row)}{'H' if deep else 'B'}", *row) for row in rows)
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 16 if deep else 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + (chunk(b"eXIf", tiff) if tiff else b"") +
            chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def archive(path, files, dos=False):
    with zipfile.ZipFile(path, "w") as out:
        for name, content in files:
            info = zipfile.ZipInfo(name)
            info.filename = name  # as it is, with backslashes on any system
            info.create_system = 0 if dos else 3
            out.writestr(info, content)


def noise(random_, side, low, high):
    return [[random_.randint(low, high) for _ in range(side)] for _ in range(side)]


def half_dark(random_, side, left):
    """As it is viewed."""
    return [[random_.randint(0, 80) if (x if left else y) < side // 2 else random_.randint(170, 255)
             for x in range(side)] for y in range(side)]


def stored_for_6(rows):
    """The rows that orientation 6 shows as these: turned by 90 degrees counter-clockwise."""
    return [list(row) for row in zip(*rows)][::-1]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    at = lambda name: os.path.join(folder, name)
    random_ = random.Random(3)
    archive(at("deep.zip"), [(f"{name}/{i:02d}.png", png(noise(random_, 8, *(span)), deep=True))
                             for name, span in (("dim", (274, 299)), ("bright", (301, 326))) for i in range(40)])
    one = png(noise(random_, 8, 274, 299), deep=True)
    wide = png([[0, 65535] * 4] * 8, deep=True)
    with open(at("one.png"), "wb") as out:
        out.write(one)
    archive(at("two.zip"), [("one.png", one), ("wide.png", wide)])

    files = []
    for i in range(80):
        rows = half_dark(random_, 16, i % 2 == 0)
        turned = i % 4 >= 2
        files.append((f"{('left', 'top')[i % 2]}/{i:02d}.png",
                      png(stored_for_6(rows), orientation=6) if turned else png(rows)))
    archive(at("turned.zip"), files)
    rows = half_dark(random_, 16, True)
    for name, content in (("left.png", png(rows)), ("left-turned.png", png(stored_for_6(rows), orientation=6))):
        with open(at(name), "wb") as out:
            out.write(content)

    small = png(noise(random_, 4, 0, 255))
    for pair in SPLITS:
        archive(at(f"{pair[0].replace('/', '-')}.zip"),
                [(f"{split}/{name}/{i}.png", small)
                 for split, count in zip(pair, (6, 2)) for name in ("circle", "cross") for i in range(count)])
    archive(at("dos.zip"), [(f"{split}\\{name}\\{i}.png", small) for split, count in (("train", 6), ("test", 2))
                            for name in ("circle", "cross") for i in range(count)], dos=True)
    archive(at("nfc.zip"), [(f"{split}/{unicodedata.normalize(form, name)}/{i}.png", small)
                            for split, form in (("train", "NFC"), ("test", "NFD")) for name in ("bar", "caf\u00e9")
                            for i in range(3)])
    bad = [("a/5.jpg", b""), ("a/6.jpg", b"GIF89a\1\0\1\0"), ("b/7.png", small[:50]),
           ("b/8.png", b"<!DOCTYPE html><title>404</title>"), ("b/9.jpeg", b"RIFF\x1a\0\0\0WEBPVP8L")]
    archive(at("broken.zip"), [(f"{name}/{i}.png", small) for name in "ab" for i in range(2)] + bad)
    archive(at("many.zip"), [(f"{name}/{i}.png", small) for name in "ab" for i in range(2)] +
            [(f"a/many{i:02d}.png", b"not a picture") for i in range(20)])


if __name__ == "__main__":
    main()
