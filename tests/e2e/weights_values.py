#!/usr/bin/env python3
"""weights_values.py FILE: the SHA-256 of the tensors of a safetensors file: names, shapes, every byte."""

import hashlib
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + size])
header.pop("__metadata__", None)
digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
digest.update(data[8 + size :])
print(digest.hexdigest())
