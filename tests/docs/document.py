#!/usr/bin/env python3
"""document.py extract|failed|compare|write FILE.md FOLDER: the parts of a page that a test runs and compares.

Each `sh` block is run; the `text` block that follows it says what it printed. A page speaks about its test
in comments, each on a line of its own:

    <!-- test: needs iron/linear.json -->      one of the seeds' files (or folders), linked into the folder
    <!-- test: images mnist 300 60 -->         makes such IDX files of little images: so many to train, to test
    <!-- test: flags --checkpoint-after 0 -->  of the daemon
    <!-- test: long -->                        not under a sanitizer
    <!-- test: not run: REASON -->             the next `sh` block is not run
    <!-- test: not checked: REASON -->         the next `text` block is not compared
    <!-- test: within 10% -->                  how far numbers of the next `text` block may be off (0.5 %)

In a `text` block, … stands for anything in a line, a line of … alone for any lines. Whole numbers must be
equal, others as near as said, or within one unit of the last digit that is shown.
"""

import os
import re
import sys

NUMBER = r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w])"
WITHIN = 0.005  # another instruction set rounds otherwise
DIRECTIVE = re.compile(r"<!-- test: (.*) -->$")


class Block:
    def __init__(self, line, language, notes):
        self.line, self.language, self.notes, self.text = line, language, notes, ""

    def note(self, word):
        """What a directive before this block says, without its first word; None if there is none."""
        return next((note[len(word):].strip(" :") for note in self.notes if note.startswith(word)), None)


def parse(path):
    """The page's blocks and its directives that belong to no block."""
    blocks, notes, page, block = [], [], [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if block is not None:
                if text == "```":
                    block = None
                else:
                    block.text += line
            elif text.startswith("```"):
                block = Block(number, text[3:].strip(), notes)
                blocks.append(block)
                notes = []
            elif found := DIRECTIVE.match(text):
                target = notes if found[1].startswith(("not ", "within ")) else page
                target.append(found[1])
                if not re.match(r"needs \S+$|images \S+ \d+ \d+$|flags --\S|long$|not (run|checked): \S|within \d+%$", found[1]):
                    raise SystemExit(f"{path}:{number}: nothing is known of \"{found[1]}\"")
    return blocks, page


def pairs(path):
    """(sh block, text block or None) for each block that is run."""
    blocks, _ = parse(path)
    for index, block in enumerate(blocks):
        if block.language in ("bash", "console", "shell"):
            raise SystemExit(f"{path}:{block.line}: write `sh`, and what it prints as `text`")
        if block.language != "sh" or block.note("not run") is not None:
            continue
        after = blocks[index + 1] if index + 1 < len(blocks) else None
        yield block, after if after is not None and after.language == "text" else None


def extract(path, folder):
    _, page = parse(path)
    for word in ("needs", "images", "flags", "long"):
        with open(os.path.join(folder, word), "w", encoding="utf-8") as file:
            for note in page:
                if note == word:
                    file.write("yes\n")
                elif note.startswith(word + " "):
                    rest = note[len(word) + 1:]
                    name = os.path.basename(rest) + " " if word == "needs" else ""
                    file.write(f"{name}{rest}\n")
    count = 0
    with open(os.path.join(folder, "script"), "w", encoding="utf-8") as script:
        script.write("set -euo pipefail\n"
                     "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT  # what a block started and did not end\n")
        for block, _ in pairs(path):
            count += 1
            output = os.path.join(folder, str(block.line))
            script.write(f"exec >'{output}.out' 2>'{output}.err'\n{block.text}")
    if count == 0:
        raise SystemExit(f"{path} has no block that is run")


def failed(path, folder):
    """Prints the last block that began: the one that failed."""
    started = [block for block, _ in pairs(path) if os.path.exists(os.path.join(folder, f"{block.line}.err"))]
    if started:
        print(f"{path}:{started[-1].line}: this block failed:\n{started[-1].text}")
        for ending in ("out", "err"):
            with open(os.path.join(folder, f"{started[-1].line}.{ending}"), encoding="utf-8") as file:
                print(file.read()[-2000:])
    return False


def pattern_of(expected):
    """A pattern whose groups are the numbers of the text, in their order."""
    result = ""
    for line in expected.rstrip("\n").split("\n"):
        if line.strip() == "…":
            result += r"(?:.*\n)*?"
            continue
        at = 0
        for found in re.finditer(NUMBER + r"|…|\s+", line):
            result += re.escape(line[at:found.start()])
            result += ".*?" if found[0] == "…" else r"\s+" if found[0].isspace() else "(" + NUMBER + ")"
            at = found.end()
        result += re.escape(line[at:]) + "[ \\t]*\n"
    return result


def differs(expected, printed, within):
    """What is wrong with the printed text, or None."""
    found = re.fullmatch(pattern_of(expected), printed.rstrip("\n") + "\n")
    if found is None:
        return "other text"
    said = [text for text in re.findall(NUMBER + "|…", expected) if text != "…"]
    for want, have in zip(said, found.groups()):
        if want == have:
            continue
        whole = re.fullmatch(r"-?\d+", want) is not None
        digits = len(want.split(".")[1].split("e")[0]) if "." in want else 0
        power = int(want.split("e")[1]) if "e" in want else 0
        near = max(within * abs(float(want)), 10.0 ** (power - digits))
        if whole or not abs(float(want) - float(have)) <= near * 1.000001:
            return f"{have} instead of {want}"
    return None


def compare(path, folder):
    compared = wrong = 0
    for block, text in pairs(path):
        if text is None or text.note("not checked") is not None:
            continue
        percent = text.note("within")
        with open(os.path.join(folder, f"{block.line}.out"), encoding="utf-8") as file:
            printed = file.read()
        fault = differs(text.text, printed, float(percent[:-1]) / 100 if percent else WITHIN)
        compared += 1
        if fault is not None:
            wrong += 1
            print(f"{path}:{text.line}: {fault}\n--- the page says\n{text.text}--- the commands print\n{printed}---")
    print(f"{os.path.basename(path)}: {sum(1 for _ in pairs(path))} blocks run, {compared} outputs compared, {wrong} wrong")
    return wrong == 0


def write(path, folder):
    """Puts what was printed into the text blocks that say something else."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for block, text in reversed(list(pairs(path))):
        if text is None or text.note("not checked") is not None:
            continue
        with open(os.path.join(folder, f"{block.line}.out"), encoding="utf-8") as file:
            printed = file.read()
        if differs(text.text, printed, WITHIN) is not None:
            lines[text.line:text.line + text.text.count("\n")] = printed.rstrip("\n").split("\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main():
    what = {"extract": extract, "failed": failed, "compare": compare, "write": write}.get(sys.argv[1])
    if what is None or len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(1 if what(sys.argv[2], sys.argv[3]) is False else 0)


if __name__ == "__main__":
    main()
