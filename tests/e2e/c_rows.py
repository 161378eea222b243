#!/usr/bin/env python3
"""c_rows.py NAME ROWS PREDICTED DATASET: prints a C program that predicts the rows (JSON objects by columns) with the header
NAME.h, and ends with 0 if outputs, classes and probabilities are those of the response of POST /predict. DATASET: of the table,
as GET /v1/datasets/NAME has it.
"""
import calendar
import json
import re
import sys

name, rows, predicted, dataset = sys.argv[1:]
rows, predicted, dataset = (json.load(open(path, encoding="utf-8")) for path in (rows, predicted, dataset))
header = open(f"{name}.h", encoding="utf-8").read()
types = {column["name"]: column["type"] for column in dataset["columns"]}
# the struct: which field is which column, and whether it is a word
fields = re.findall(r'^  (const char \*|double )(\w+); /\* "(.*?)":', header, re.M)


def seconds(text):
    date, _, time = text.rpartition("T") if "T" in text else (text, "", "") if "-" in text else ("", "", text)
    total = 0
    if date:
        year, month, day = map(int, date.split("-"))
        # calendar.timegm begins with year 1970: 400 years have the same days
        total = calendar.timegm((year % 400 + 2000, month, day, 0, 0, 0)) - (2000 - year // 400 * 400) // 400 * 146097 * 86400
    for part, unit in zip(time.split(":") if time else (), (3600, 60, 1)):
        total += int(part) * unit
    return total


def literal(text):
    return json.dumps(text, ensure_ascii=False).replace("?", "\\?")  # two of them may begin a trigraph


def cell(kind, column, value):
    if kind.startswith("const"):
        return "0" if value is None else literal(value)
    if value is None:
        return "NAN"
    return repr(float(seconds(value) if types[column] == "date" else value))


def strings(values):
    return ", ".join(map(literal, values))


print(f'#include "{name}.h"\n#include <stdio.h>\nint main(void) {{\n  static const {name}_row rows[] = {{')
for row in rows:
    print("    {" + ", ".join(f".{field} = {cell(kind, column, row.get(column))}" for kind, field, column in fields) + "},")
print("  };")
print("  static const double wanted[] = {", ", ".join(repr(v) for row in predicted["predictions"] for v in row), "};")
if "probabilities" in predicted:
    print("  static const double probabilities[] = {",
          ", ".join(repr(v) for row in predicted["probabilities"] for v in row), "};")
    print(f"  static const char *const classes[] = {{{strings(predicted['classes'])}}};")
capitals = name.upper()
print(f"""  for (int r = 0; r < {len(rows)}; r++) {{
    float y[{capitals}_OUTPUTS];
    {name}_predict(&rows[r], y);
    double greatest = 1;
    for (int i = 0; i < {capitals}_OUTPUTS; i++)
      greatest = fmax(greatest, fabs(wanted[r * {capitals}_OUTPUTS + i]));
    for (int i = 0; i < {capitals}_OUTPUTS; i++) {{
      const double want = wanted[r * {capitals}_OUTPUTS + i];
      if (!(fabs(y[i] - want) <= 2e-6 * greatest)) {{
        printf("row %d, output %d: %.9g, not %.9g\\n", r, i, y[i], want);
        return 1;
      }}
    }}""")
if "probabilities" in predicted:
    print(f"""    float p[{capitals}_CLASSES];
    {name}_probabilities(y, p);
    for (int i = 0; i < {capitals}_CLASSES; i++)
      if (!(fabs(p[i] - probabilities[r * {capitals}_CLASSES + i]) <= 1e-6 * greatest)) return 2; /* as its outputs */
    if (strcmp({name}_class_names[{name}_class(y)], classes[r]) != 0) return 3;""")
print("  }\n  return 0;\n}")
