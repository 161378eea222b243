#!/usr/bin/env python3
"""page_canary.py: shows that `page --check` can fail: in a copy of the pages, a figure that was typed into README.md or
docs/performance.md, a measurement that changed, and a page without its tables are each found."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
FILES = ["README.md", "docs/performance.md", "docs/data.md"]
FILES += [os.path.join("docs", "performance", name) for name in sorted(os.listdir(os.path.join(ROOT, "docs", "performance")))
          if name.endswith(".json")]


def edit(path, change):
    with open(path, encoding="utf-8") as source:
        text = source.read()
    with open(path, "w", encoding="utf-8") as target:
        target.write(change(text))


def check(path=None, change=None):
    """What the check says of a copy in which the file at `path` was changed; "" when it finds nothing."""
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(os.path.join(tree, "docs", "performance"))
        for file in FILES:
            shutil.copy(os.path.join(ROOT, file), os.path.join(tree, file))
        if path:
            edit(os.path.join(tree, path), change)
        done = subprocess.run([sys.executable, os.path.join(HERE, "page"), "--check", tree], capture_output=True,
                              text=True)
        return done.stderr if done.returncode else ""


def faster(text):
    """The same measurement with one time halved."""
    out = json.loads(text)
    row = next(row for row in out["rows"] if row["name"] == "linear-auto")
    row["epochd"]["seconds"] /= 2
    return json.dumps(out)


def typed(table):
    """Changes the last digit before the end of that table."""
    def change(text):
        end = text.index("<!-- end -->", text.index(f"<!-- table {table} -->"))
        at = max(text.rfind(digit, 0, end) for digit in "0123456789")
        return text[:at] + str(9 - int(text[at])) + text[at + 1:]
    return change


def main():
    faults = []

    def must(what, condition):
        if not condition:
            faults.append(what)

    must("the pages agree with the measurements", check() == "")
    must("a figure typed into README.md is seen", "README.md: h200 readme" in check("README.md", typed("h200 readme")))
    must("a figure typed into docs/performance.md is seen",
         "docs/performance.md: h200 summary" in check("docs/performance.md", typed("h200 summary")))
    must("a measurement that changed is seen", "README.md" in check("docs/performance/h200.json", faster))
    must("a README.md without the table is seen",
         "README.md: none" in check("README.md", lambda text: text.replace("<!-- table", "<!-- stable")))
    for fault in faults:
        print(f"not so: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
