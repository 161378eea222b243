#!/usr/bin/env python3
"""notebook.py FILE.ipynb [--write]: runs the code cells of a notebook, in their order and in one namespace, and compares
what they print with what the notebook says; --write puts it there. The last expression of a cell is shown as Jupyter
does: as text, which is compared, and as HTML, which must be well-formed. What a job, a curve or a sweep says of itself
may differ."""

import ast
import contextlib
import io
import json
import re
import sys
import xml.etree.ElementTree

import document


def shown(value):
    """The data of an output, by its type."""
    data = {"text/plain": repr(value)}
    html = getattr(value, "_repr_html_", lambda: None)()
    if html:
        xml.etree.ElementTree.fromstring(f"<div>{html}</div>")
        data["text/html"] = html
    return {kind: text.splitlines(keepends=True) for kind, text in data.items()}


def run(source, namespace):
    """The outputs of a cell."""
    cell, said, outputs = ast.parse(source), io.StringIO(), []
    last = ast.Expression(cell.body.pop().value) if cell.body and isinstance(cell.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(said):
        exec(compile(cell, "<cell>", "exec"), namespace)
        value = eval(compile(last, "<cell>", "eval"), namespace) if last else None
    if said.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": said.getvalue().splitlines(keepends=True)})
    if value is not None:
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": shown(value)})
    return outputs


def text_of(outputs):
    lines = "".join("".join(output["text"] if "text" in output else [*output["data"]["text/plain"], "\n"]) for output in outputs)
    return re.sub(r"<(Job|Curve|Sweep)\b[^>]*>", r"<\1 …>", lines)


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--write"]):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        notebook = json.load(file)
    namespace, wrong = {}, 0
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        found = run("".join(cell["source"]), namespace)
        want, have = text_of(cell["outputs"]), text_of(found)
        fault = document.differs(want, have, document.WITHIN)
        if sys.argv[2:]:
            cell["outputs"], cell["execution_count"] = found, None
        elif fault is not None:
            wrong += 1
            print(f"{sys.argv[1]}: cell {number}: {fault}\n--- the notebook says\n{want}--- the cell prints\n{have}---")
    if sys.argv[2:]:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(cells)} cells run, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
