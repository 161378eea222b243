#!/usr/bin/env python3
"""lint.py RULE TREE: checks one rule of the house on the sources of TREE.

Prints one line a violation, "file:line: what", and exits 1 if there is any; 77 when a tool that the
rule needs is not there. canary.py plants a violation of each rule and sees it found.
"""

import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from rooms import ROOMS  # noqa: E402

NOT_OURS = {".git", "build", ".carry", ".cache", "node_modules", "__pycache__"}
C_FILES = (".c", ".h", ".cu", ".cuh")
SOURCES = (".c", ".cu")
LONGEST_FILE_LINES = 600
LONGEST_ADR_LINES, LONGEST_ADR_LINE = 60, 120

GUARDED = {
    "microhttpd": r"microhttpd\.h",
    "sqlite": r"sqlite3\.h",
    "jansson": r"jansson\.h",
    "curl": r"curl/",
    "gnutls": r"gnutls/",
    "png": r"png\.h",
    "jpeg": r"j(peglib|error)\.h",
    "utf8proc": r"utf8proc\.h",
    "cuda": r"cu(da|blas|dnn|rand|sparse|solver|fft|pti)\w*\.h|nccl\.h|nv\w+\.h|cooperative_groups",
}

# Files of which a build takes one: they define the same functions.
ALTERNATIVES = [
    {"kernels/cpu/executors/blocked/product_openblas.c", "kernels/cpu/executors/blocked/product_plain.c"},
    {"kernels/cuda/executors/images/convolution.c", "kernels/cuda/executors/images/no_convolution.c"},
]

# Opaque types, which each backend defines for itself.
OPAQUE = {"ep_backend", "ep_instance"}

MOST_FILES = 30  # of C in a folder

# Each has a bounded or a checked sister, or belongs to no daemon at all.
BANNED = ("strcpy strncpy strcat strncat sprintf vsprintf gets atoi atol atoll atof strtok system popen rand srand "
          "alloca tmpnam mktemp asctime ctime gmtime localtime setlocale").split()

# Files that search a text, which is not JSON: what it is.
TEXT_SEARCHES = {
    "api/tokens/tokens.c": "a time of RFC 3339",
    "clients/epochctl/http/request.c": "a URL",
    "clients/epochctl/http/session.c": "a URL",
    "clients/epochctl/input/axis.c": "a range like 1..5",
    "clients/epochctl/manual/help_page.c": "a command line's words",
    "clients/epochctl/terminal/terminal.c": "a locale",
    "engine/host/memory.c": "/proc/self/mountinfo",
    "engine/weights/c/figures.c": "C source that was written here",
    "engine/worker/relay/child.c": "a list of devices, one a line",
    "server/backup/copy.c": "a file's name",
    "server/drawing/axis.c": "a number",
    "server/handlers/datasets.c": "a URL's path",
    "server/http/exchange.c": "a path in a message",
    "server/process/data_dir.c": "a path in a message",
    "server/kubernetes/commands.c": "a list of devices",
    "server/main.c": "a state of systemd's",
    "server/metrics/process.c": "/proc/self/stat",
    "server/process/config.c": "a list of devices",
    "server/process/probe.c": "the end of an HTTP header",
    "server/slurm/child.c": "what a command of Slurm printed",
    "server/slurm/commands.c": "what a command of Slurm printed",
    "server/slurm/jobs.c": "what sbatch --test-only printed",
    "server/slurm/partitions.c": "a list of devices",
}


def files(tree, endings):
    """Paths below tree, relative to it, that end so."""
    for folder, below, names in os.walk(tree):
        below[:] = sorted(name for name in below if name not in NOT_OURS)
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.relpath(os.path.join(folder, name), tree)


def lines(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8", errors="replace") as text:
        return text.read().split("\n")


def code(tree, path):
    """The file's lines with comments and the insides of literals blanked out."""
    text = "\n".join(lines(tree, path))
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found.group()), text,
                  flags=re.DOTALL).split("\n")


def row_of(folder):
    """The row of a folder: its own, or the one with a star for all of its kind."""
    if folder in ROOMS:
        return folder
    kind = os.path.dirname(folder) + "/*"
    return kind if kind in ROOMS else None


def allows(row, folder, other):
    """Whether a file of `folder`, whose row that is, may include one of the folder `other`."""
    if other == folder:
        return True
    allowed = ROOMS[row][0].split()
    return other in allowed or (row_of(other) in allowed and row_of(other) != other)


def includes(tree, path):
    """(line number, bracket, name) of every #include."""
    for number, line in enumerate(lines(tree, path), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^">]+)[">]', line)
        if found:
            yield number, *found.groups()


def arrows(tree):
    """A folder includes only what its row allows."""
    for path in files(tree, C_FILES):
        folder = os.path.dirname(path)
        test = path.startswith("tests/")
        row = None if test else row_of(folder)
        if row is None and not test:
            yield path, 1, f"lies in a folder without a row in rooms.py: {folder}"
            continue
        if path.endswith((".cu", ".cuh")) and not path.startswith(("kernels/cuda/", "tests/gpu/", "tests/emulator/")):
            yield path, 1, "CUDA outside kernels/cuda"
        guarded = "|".join(GUARDED) if test else ROOMS[row][1]
        for number, bracket, name in includes(tree, path):
            if bracket == '"' and not test and not allows(row, folder, os.path.dirname(name)):
                yield path, number, f'{folder} may not include "{name}"'
            for word, pattern in GUARDED.items():
                if re.match(pattern, name) and word not in guarded.split("|"):
                    yield path, number, f"{folder} may not use {word} (<{name}>)"


def circle(graph):
    """Some circle of a graph {node: nodes}, as a list that ends where it begins; [] without one."""
    done, path = set(), []

    def walk(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        path.append(node)
        for after in sorted(graph.get(node, ())):
            found = walk(after)
            if found:
                return found
        path.pop()
        done.add(node)
        return []

    return next((found for found in map(walk, sorted(graph)) if found), [])


def rooms(tree):
    """A folder is a library: its CMakeLists.txt names its sources, all of them, and no others; and the
    includes between folders form no circle."""
    named = {}  # source: the folders whose CMakeLists.txt names it
    for path in files(tree, "CMakeLists.txt"):
        folder = os.path.dirname(path)
        if path.startswith("tests/"):
            continue
        text = re.sub(r"#[^\n]*|\bfunction\(.*?\bendfunction\(\)", "", "\n".join(lines(tree, path)), flags=re.DOTALL)
        for name in re.findall(r"[\w./]+\.cu?\b", text):
            named.setdefault(os.path.normpath(os.path.join(folder, name)), set()).add(folder)
        parts = re.findall(r"\b(ep_library|ep_executor_plan|ep_cuda_part|ep_cuda_plan|add_library|add_executable)\(", text)
        if row_of(folder) and len(parts) != len(set(parts)):
            yield path, 1, "makes two libraries of one folder"
    graph = {}
    for path in files(tree, C_FILES):
        folder = os.path.dirname(path)
        if path.startswith("tests/"):
            continue
        if path.endswith(SOURCES):
            owners = named.get(path, set())
            if owners != {folder}:
                yield path, 1, f"is named by {', '.join(sorted(owners)) or 'no CMakeLists.txt'}, not just by {folder}"
        for _, bracket, name in includes(tree, path):
            other = os.path.dirname(name)
            if bracket == '"' and other != folder:
                graph.setdefault(folder, set()).add(other)
    found = circle(graph)
    if found:
        yield found[0], 1, "folders that include each other: " + " -> ".join(found)


def name_of(head):
    """The name that a typedef, a variable or a function's head declares: [] or [name]."""
    head = re.sub(r"\[[^\]]*\]|=[^=].*", "", head, flags=re.DOTALL).rstrip()
    while head.endswith(")"):  # parameters, an attribute, or the parentheses around a pointer's name
        opened = max((at for at in range(len(head)) if head[at] == "(" and head.count("(", at) == head.count(")", at)),
                     default=0)
        pointer = re.fullmatch(r"\s*\*\s*(\w+)\s*", head[opened + 1:-1])
        if pointer:
            return [pointer.group(1)]
        head = re.sub(r"__attribute__$", "", head[:opened].rstrip()).rstrip()
    return re.findall(r"(\w+)$", head)


def definitions(text):
    """(offset, name) of what C text defines outside of functions: types, enum constants, functions,
    initialized variables. Without comments, literals and preprocessor lines."""
    text = re.sub(r"\bextern\s*\{", lambda found: found.group()[:-1] + " ", text)
    head, begin, depth = "", 0, 0
    for found in re.finditer(r"[{};]", text):
        end = found.start()
        if depth == 0:
            head += text[begin:end]
        if found.group() == "{" and depth == 0:
            begin = end + 1
        depth = max(0, depth + {"{": 1, "}": -1, ";": 0}[found.group()])
        if depth > 0:
            continue
        if found.group() == "}":  # of a body
            kind = re.search(r"\b(struct|union|enum|class)\b\s*(\w*)[^()=]*$", head)
            if kind:
                yield end, kind.group(2)
            if kind and kind.group(1) == "enum":
                for item in text[begin:end].split(","):
                    yield from ((end, name) for name in re.findall(r"^\s*(\w+)\s*(?==|$)", item))
            if not kind and head.rstrip().endswith(")"):
                yield from ((end, name) for name in name_of(head))
                head = ""
        elif "typedef" in head:
            if not re.match(r"\s*typedef\s+(struct|union|enum)\s+(\w+)\s+\2\s*$", head):
                yield from ((end, name) for name in name_of(head))
        elif re.search(r"[^=!<>]=[^=]", head):
            yield from ((end, name) for name in name_of(head))
        if found.group() == ";":
            head = ""
        begin = end + 1


def names(tree):
    """One definition a name, of all that begin with ep_ or EP_. Tests stand in for some."""
    where = {}  # name: {file: line}
    for path in files(tree, C_FILES):
        if path.startswith("tests/"):
            continue
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda found: re.sub(r"[^\n]", " ", found.group()),
                      "\n".join(code(tree, path)), flags=re.MULTILINE)
        for offset, name in definitions(text):
            if re.match(r"ep_|EP_", name):
                where.setdefault(name, {}).setdefault(path, text.count("\n", 0, offset) + 1)
    for name, places in sorted(where.items()):
        if len(places) > 1 and name not in OPAQUE and set(places) not in ALTERNATIVES:
            path, line = max(places.items())
            yield path, line, f"defines {name}, as does {min(places)}"


def wide(tree):
    """A folder has few enough files that anybody finds one."""
    counts = {}
    for path in files(tree, C_FILES):
        counts.setdefault(os.path.dirname(path), []).append(path)
    for folder, paths in counts.items():
        if len(paths) > MOST_FILES:
            yield paths[-1], 1, f"{folder} has {len(paths)} C files; more than {MOST_FILES} need rooms"


def length(tree):
    for path in files(tree, C_FILES + (".py", ".sh", ".js")):
        count = len(lines(tree, path)) - 1
        if count >= LONGEST_FILE_LINES:
            yield path, count, f"has {count} lines; under {LONGEST_FILE_LINES} is one concept"


def banned(tree):
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
    for path in files(tree, C_FILES):
        if path.startswith("tests/"):  # they know how long their own texts are
            continue
        for number, line in enumerate(code(tree, path), 1):
            for name in pattern.findall(line):
                yield path, number, f"calls {name}"


def sniffing(tree):
    """JSON is parsed, and then asked (api/json): no text of it is searched. Other texts are, in these files."""
    pattern = re.compile(r"(?<![\w.>])(strstr|strcasestr|memmem|sscanf)\s*\(")
    for path in files(tree, C_FILES):
        if path.startswith("tests/") or path in TEXT_SEARCHES:
            continue
        for number, line in enumerate(code(tree, path), 1):
            for name in pattern.findall(line):
                yield path, number, f"calls {name}: ask the struct or the tree of JSON; other texts: TEXT_SEARCHES"
    for path in TEXT_SEARCHES:
        if os.path.exists(os.path.join(tree, path)) and not pattern.search("\n".join(code(tree, path))):
            yield path, 1, "searches no text: take it out of TEXT_SEARCHES"


def guards(tree):
    for path in files(tree, (".h", ".cuh")):
        text = "\n".join(code(tree, path))
        guard = "EP_" + re.sub(r"\W", "_", path).upper()
        if path.startswith("tests/"):
            guard = r"EP_(?:TEST|FUZZ)\w*_H"
        want = rf"\s*#ifndef (?P<guard>{guard})\n#define (?P=guard)\n.*#endif\s*$"
        if not re.match(want, text, re.DOTALL):
            yield path, 1, f"has no include guard {guard} around everything"


def paths(tree):
    """Folders of one machine. .ci/run alone may know where a checkout has its data."""
    pattern = re.compile(r"/(home|Users)/\w|/ro{2}t/\w|/w[o]rk/|/f[a]rm/|\.l[i]brary/|\.\./sh[a]red")
    endings = C_FILES + (".py", ".sh", ".txt", ".md", ".json", ".yaml", ".yml", ".cmake", "run",
                         "install", "quickstart")
    for path in files(tree, endings):
        if path == os.path.join(".ci", "run"):
            continue
        for number, line in enumerate(lines(tree, path), 1):
            if pattern.search(line):
                yield path, number, "names a folder of one machine: " + line.strip()[:80]


def unfinished(tree):
    pattern = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
    for path in files(tree, C_FILES + (".py", ".sh", ".js")):
        for number, line in enumerate(lines(tree, path), 1):
            if pattern.search(line):
                yield path, number, "is unfinished: " + line.strip()[:80]


def adrs(tree):
    """A decision is a page: few lines, none of them long (a table's row may be), and a status."""
    status = re.compile(r"Status: (accepted|superseded by \d+((, \d+)* and \d+)?)( \(.+\))?$")
    for path in files(tree, ".md"):
        if not re.match(r"docs/adr/\d", path):
            continue
        text = lines(tree, path)
        if len(text) - 1 > LONGEST_ADR_LINES:
            yield path, len(text) - 1, f"has {len(text) - 1} lines; a decision has {LONGEST_ADR_LINES} at most"
        for number, line in enumerate(text, 1):
            if len(line) > LONGEST_ADR_LINE and not line.startswith("|"):
                yield path, number, f"has {len(line)} characters; {LONGEST_ADR_LINE} is a line"
        if not any(map(status.match, text)):
            yield path, 1, "has no line \"Status: accepted\" or \"Status: superseded by N\""


def tool(name):
    if shutil.which(name) is None:
        print(f"skipped: there is no {name}")
        sys.exit(77)
    return name


def format(tree):
    """clang-format 14, because each version has a taste of its own."""
    command = [tool("clang-format-14"), "--style=file", "--dry-run", "--Werror"]
    paths = list(files(tree, C_FILES))
    done = subprocess.run(command + paths, cwd=tree, capture_output=True, text=True)
    for path, number in re.findall(r"^(.+):(\d+):\d+: error", done.stderr, flags=re.MULTILINE):
        yield path, int(number), "is not as clang-format has it"


def shell(tree):
    """Every script is clean under shellcheck (which does not see variables of a sourced file)."""
    scripts = []
    for path in files(tree, ""):
        with open(os.path.join(tree, path), "rb") as text:
            first = text.readline(64)
        if path.endswith(".sh") or re.match(rb"#!.*\b(ba)?sh\b", first):
            scripts.append(path)
    if not scripts:
        return
    command = [tool("shellcheck"), "--severity=warning", "--shell=bash", "--format=gcc",
               "--exclude=SC2034,SC2154"]
    done = subprocess.run(command + scripts, cwd=tree, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        path, number, _, what = line.split(":", 3)
        yield path, int(number), what.strip()


RULES = {rule.__name__: rule for rule in
         (arrows, rooms, names, wide, length, banned, sniffing, guards, paths, unfinished, adrs, format, shell)}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in RULES:
        sys.exit(f"lint.py RULE TREE; rules: {' '.join(RULES)}")
    found = list(RULES[sys.argv[1]](sys.argv[2]))
    for path, number, what in found:
        print(f"{path}:{number}: {what}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
