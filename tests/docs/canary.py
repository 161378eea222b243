#!/usr/bin/env python3
"""Shows that the tests of the pages can fail: a broken link, a missing heading, an output that differs."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import document  # noqa: E402 (from the folder of this file)

FENCE = "`" * 3


def links_say(page):
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(os.path.join(tree, "tests", "docs"))
        for path, text in (("tests/docs/CMakeLists.txt", "docs/a.md"), ("page.md", page), ("other.md", "# One thing\n")):
            with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(HERE, "links.py"), tree], capture_output=True, text=True)
        return done.stdout


def notebook_says(printed):
    """The status of notebook.py for one whose cell prints 2."""
    output = {"output_type": "stream", "name": "stdout", "text": [printed]}
    page = {"cells": [{"cell_type": "code", "source": ["a = 1\n", "print(a + 1)"], "outputs": [output]}]}
    with tempfile.NamedTemporaryFile("w", suffix=".ipynb", encoding="utf-8") as file:
        json.dump(page, file)
        file.flush()
        return subprocess.run([sys.executable, os.path.join(HERE, "notebook.py"), file.name], capture_output=True).returncode


def main():
    faults = []

    def must(what, condition):
        if not condition:
            faults.append(what)

    must("a good link is good", links_say("[a](other.md#one-thing) [b](#here)\n\n## Here\n") == "")
    must("a missing file is seen", "no none.md" in links_say("[a](none.md)\n"))
    must("a missing heading is seen", "no heading #two" in links_say("[a](other.md#two)\n"))
    must("a missing picture is seen", "no a.svg" in links_say('<img src="a.svg">\n'))
    must("commands that nobody runs are seen", "not in the list" in links_say(f"{FENCE}sh\ntrue\n{FENCE}\n"))
    must("a good notebook is good", notebook_says("2\n") == 0)
    must("another output of a notebook is seen", notebook_says("3\n") == 1)
    same = lambda said, printed, within=0.005: document.differs(said, printed, within) is None  # noqa: E731
    must("equal is equal", same('{"a":1,"loss":0.25}\n', '{"a":1,"loss":0.25}'))
    must("the last digit may differ", same("0.250\n", "0.251") and same("rmse 7.7251437\n", "rmse 7.7251430"))
    must("more may not", not same("0.250\n", "0.260") and not same("100\n", "101"))
    must("but within what was said", same("0.250\n", "0.260", 0.1) and not same("0.250\n", "0.280", 0.1))
    must("NaN is no number", not same("0.25\n", "NaN") and not same("0.25\n", "nan"))
    must("other words are seen", not same('{"status":"succeeded"}\n', '{"status":"failed"}'))
    must("a line too few is seen", not same("a\nb\n", "a\n") and not same("a\n", "a\nb\n"))
    must("an ellipsis hides what it says", same("a … c\n…\nz\n", "a bb c\n1\n2\nz\n") and not same("a … c\n", "a bb d\n"))
    for fault in faults:
        print(f"not so: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
