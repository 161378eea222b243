#!/usr/bin/env python3
"""build_wheel.py [FOLDER]: writes the package's wheel into the folder, here unless given, and prints its path.

It is the build backend of pyproject.toml as well (PEP 517), so that `pip install clients/python` works. The same files
make the same bytes."""
import base64
import hashlib
import os
import re
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
METADATA = """Metadata-Version: 2.1
Name: epochd
Version: {version}
Summary: A client for epochd, a daemon that trains neural networks
License: Apache-2.0
Requires-Python: >=3.9
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: build_wheel.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The name of the wheel."""
    package = os.path.join(HERE, "epochd")
    files = {f"epochd/{name}": os.path.join(package, name) for name in os.listdir(package) if name.endswith(".py")}
    contents = {}
    for name, path in sorted(files.items()):
        with open(path, "rb") as file:
            contents[name] = file.read()
    version = re.search(rb'^__version__ = "(.+)"$', contents["epochd/__init__.py"], re.MULTILINE)[1].decode()
    info = f"epochd-{version}.dist-info"
    contents[f"{info}/METADATA"] = METADATA.format(version=version).encode()
    contents[f"{info}/WHEEL"] = WHEEL.encode()
    contents[f"{info}/RECORD"] = _record(contents, f"{info}/RECORD")
    wheel = f"epochd-{version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name)  # of 1980, whenever it is made
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, content)
    return wheel


def _record(contents, own):
    lines = []
    for name, content in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{own},,\n"]).encode()


if __name__ == "__main__":
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    folder = sys.argv[1] if len(sys.argv) == 2 else "."
    os.makedirs(folder, exist_ok=True)
    print(os.path.join(folder, build_wheel(folder)))
