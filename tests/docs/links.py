#!/usr/bin/env python3
"""links.py TREE: does every relative link of the tree's pages lead to a file, and every anchor to a heading? And is
every page that has a block to run in the list of tests/docs/CMakeLists.txt? Prints what is wrong; exits 1."""

import os
import re
import sys

import document

NOT_OURS = {".git", "build", ".carry", ".cache", "node_modules", "__pycache__"}


def pages(tree):
    for folder, below, names in os.walk(tree):
        below[:] = sorted(name for name in below if name not in NOT_OURS)
        for name in sorted(names):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), tree)


def prose(path):
    """(number, line) of what is outside of code, its inline code blanked."""
    inside = False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.lstrip().startswith("```"):
                inside = not inside
            elif not inside:
                yield number, line


def anchors(path):
    """The names that GitHub gives to the page's headings."""
    found = {}
    for _, line in prose(path):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading is None:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        if count:
            found[f"{name}-{count}"] = 1
    return found


def links(path):
    for number, line in prose(path):
        line = re.sub(r"`[^`]*`", "", line)
        for target in re.findall(r"\]\(([^)\s]+)\)", line) + re.findall(r"(?:src|srcset|href)=\"([^\"]+)\"", line):
            if not re.match(r"[a-z]+:", target):
                yield number, target


def wrong_links(tree):
    for page in pages(tree):
        path = os.path.join(tree, page)
        for number, target in links(path):
            file, _, anchor = target.partition("#")
            other = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(other):
                yield page, number, f"there is no {target}"
            elif anchor and other.endswith(".md") and anchor not in anchors(other):
                yield page, number, f"{file or 'this page'} has no heading #{anchor}"


def untested(tree):
    """Pages with blocks that nobody runs; blocks that say why they are not run may be anywhere."""
    with open(os.path.join(tree, "tests", "docs", "CMakeLists.txt"), encoding="utf-8") as file:
        tested = set(re.findall(r"[\w./-]+\.md", file.read()))
    for page in pages(tree):
        commands = [block.line for block, _ in document.pairs(os.path.join(tree, page))]
        if commands and page not in tested:
            yield page, commands[0], "has commands, and is not in the list of tests/docs/CMakeLists.txt"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(wrong_links(sys.argv[1])) + list(untested(sys.argv[1]))
    for page, number, what in found:
        print(f"{page}:{number}: {what}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
