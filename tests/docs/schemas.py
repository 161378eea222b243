#!/usr/bin/env python3
"""schemas.py GENERATE OPENAPI.json [--write]: are the schemas of a job's spec in api/openapi.json those that GENERATE
prints from the tables of api/? With --write they are made so. All else in the document is written by hand; the whole
document has the one layout of layout()."""

import difflib
import json
import subprocess
import sys

COLUMNS = 130


def layout(value, indent=0, before=0):
    """JSON with each object and each list on one line where that fits. before: columns of the key."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or indent + before + len(line) < COLUMNS:
        return line
    inner = "\n" + " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {layout(one, indent + 2, len(key) + 4)}" for key, one in value.items()]
    else:
        parts = [layout(one, indent + 2) for one in value]
    brackets = "{}" if isinstance(value, dict) else "[]"
    return brackets[0] + inner + ("," + inner).join(parts) + "\n" + " " * indent + brackets[1]


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    printed = subprocess.run([sys.argv[1], "schemas"], stdout=subprocess.PIPE, check=True).stdout
    with open(sys.argv[2], encoding="utf-8") as file:
        stored = file.read()
    document = json.loads(stored)
    document["components"]["schemas"].update(json.loads(printed))
    fresh = layout(document) + "\n"
    if sys.argv[3:] == ["--write"]:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(fresh)
        return
    if stored != fresh:
        sys.stdout.writelines(list(difflib.unified_diff(stored.splitlines(True), fresh.splitlines(True),
                                                        sys.argv[2], "the tables"))[:60])
        sys.exit(f"run: {' '.join(sys.argv)} --write")


if __name__ == "__main__":
    main()
