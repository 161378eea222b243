#!/usr/bin/env python3
"""big_picture.py FILE HEIGHT WIDTH [COUNT]: writes a black PNG of that size, or a ZIP of so many of them."""
import struct
import sys
import zipfile
import zlib


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


path, height, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
picture = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
           chunk(b"IDAT", zlib.compress(bytes((width + 1) * height))) + chunk(b"IEND", b""))
if len(sys.argv) == 4:
    with open(path, "wb") as file:
        file.write(picture)
else:
    with zipfile.ZipFile(path, "w") as archive:
        for at in range(1, int(sys.argv[4]) + 1):
            archive.writestr(f"{at:02d}.png", picture)
