#!/usr/bin/env python3
"""cycles.py TREE BUILD: no source file needs another one that, by way of others, needs it again.

The graph is that of the symbols in the objects of BUILD: a file needs the one that defines a name which it
uses, of a function or of a table. Prints one line a file of a cycle, "file:1: needs FILE for NAMES", and
exits 1 if there is any; 77 where nothing is built. canary.py plants a cycle and sees it found.
"""

import collections
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from lint import SOURCES, circle  # noqa: E402

OURS = ("api/", "kernels/", "engine/", "server/", "clients/")

# Files whose own needs do not count, and why.
ALLOWED = {
    "kernels/operators/operators.c": "its table names the operators, which use the formulas beside it",
    "kernels/cuda/executors/ranks/executor.c": "it names what creates it, which tells it from other executors",
}


def objects(tree, build):
    """{object: its source}, without tests and what a build keeps of sources that are gone."""
    found = {}
    for folder, _, names in os.walk(build):
        for name in names:
            path = os.path.join(folder, name)
            source = re.sub(r"CMakeFiles/[^/]+\.dir/|\.o$", "", os.path.relpath(path, build))
            if name.endswith(".o") and source.startswith(OURS) and source.endswith(SOURCES) and \
                    os.path.exists(os.path.join(tree, source)):
                found[path] = source
    return found


def needs(sources):
    """{file: {file that it needs: names}}; a name that several files define, as `main`, is nobody's."""
    listed = subprocess.run(["nm", "-A", "-P", *sources], capture_output=True, text=True, check=True).stdout
    owners, users = collections.defaultdict(set), collections.defaultdict(set)
    for line in listed.splitlines():
        path, symbol = line.split(": ", 1)
        name, kind = symbol.split()[:2]
        if kind.isupper() or kind in "wv":
            (users if kind in "Uwv" else owners)[name].add(sources[path])
    graph = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in users:
        if len(owners[name]) == 1:
            (owner,) = owners[name]
            for user in users[name] - owners[name]:
                graph[user][owner].append(name)
    return graph


def main():
    tree, build = sys.argv[1:]
    sources = objects(tree, build)
    if not sources:
        print("nothing is built")
        sys.exit(77)
    graph, failed = needs(sources), False
    allowed = {path: graph.pop(path) for path in ALLOWED if path in graph}
    for path in allowed:
        if not circle({**graph, path: allowed[path]}):
            print(f"{path}:1: is in no cycle: remove it from ALLOWED in cycles.py")
            failed = True
    while cycle := circle(graph):
        for user, owner in zip(cycle, cycle[1:]):
            print(f"{user}:1: needs {owner} for {', '.join(sorted(graph[user][owner]))}")
        del graph[cycle[0]]  # there may be others
        failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
