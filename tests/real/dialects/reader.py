"""reader.py: reads a file by the dialect that it was written in, and says where it is another table: the proof that the
writers and the judge mean the same. It shares no code with the writers."""

import csv
import datetime
import io
import re

from dialects.dialect import CODECS, DELIMITERS, NEWLINES, THOUSANDS
from dialects.frames import seconds_of

FORMS = {"iso": ["%Y-%m-%d"], "slashed": ["%Y/%m/%d"], "named first": ["%d %B %Y"], "named after": ["%b %d, %Y"],
         "named short": ["%d-%b-%Y"], "iso T": ["%Y-%m-%dT%H:%M:%S"], "iso space": ["%Y-%m-%d %H:%M:%S"],
         "iso minutes": ["%Y-%m-%d %H:%M"], "iso Z": ["%Y-%m-%dT%H:%M:%SZ"], "iso offset": ["%Y-%m-%dT%H:%M:%S%z"],
         "named time": ["%d %b %Y %H:%M"], "rfc": ["%a, %d %b %Y %H:%M:%S %z"], "seconds": ["%H:%M:%S"],
         "minutes": ["%H:%M"], "half days": ["%I:%M %p"]}


def records_of_spaces(text, quote):
    """The rows of cells between runs of spaces and tabs."""
    token = re.compile(rf"{quote}(?:[^{quote}]|{quote}{quote})*{quote}|\r\n|\n|\r|[^ \t\r\n]+" if quote
                       else r"\r\n|\n|\r|[^ \t\r\n]+")
    row = []
    for found in token.findall(text):
        if found in ("\r\n", "\n", "\r"):
            yield row
            row = []
        else:
            quoted = quote and found[0] == quote and len(found) > 1
            row.append(found[1:-1].replace(quote * 2, quote) if quoted else found)
    if row:
        yield row


def records(text, dialect):
    mark = DELIMITERS[dialect.delimiter]
    quote = dialect.quote if dialect.quoting != "none" else None
    if mark == " ":
        return list(records_of_spaces(text, quote))
    options = {"quotechar": quote, "doublequote": True} if quote else {"quoting": csv.QUOTE_NONE}
    source = io.StringIO(text, newline="")
    found = csv.reader(source, delimiter=mark, skipinitialspace=True, **options)
    return [[cell.strip(" ") for cell in row] for row in found]


def table_of(data, dialect):
    """The names, or None, and the rows, of cells as text."""
    codec, mark, _ = CODECS[dialect.encoding]
    text = data[len(mark):].decode(codec)
    newline = NEWLINES[dialect.newline]
    for _ in range(len(dialect.preamble) + dialect.sep_line):
        text = text[text.index(newline) + len(newline):]
    if dialect.comment:
        text = re.sub(f"(?:^|(?<={newline})){dialect.comment} measured[^\r\n]*{newline}", "", text)
        text = re.sub(f"(?:^|(?<={newline})){dialect.comment} rows to[^\r\n]*{newline}", "", text)
    found = records(text, dialect)
    found = found[:len(found) - len(dialect.footer)] if dialect.footer else found
    names = found.pop(0) if dialect.header else None
    if dialect.trailing in ("header", "both"):
        names.pop()
    if dialect.units:
        found.pop(0)
    if dialect.trailing in ("rows", "both"):
        found = [row[:-1] for row in found]
    if dialect.repeats:
        found = [row for row in found if row != names]
    if dialect.row_names != "none":
        found = [row[1:] for row in found]
        names = names[1:] if dialect.row_names == "empty" else names
    return names, found


def number_of(text, dialect, negative):
    text = re.sub(r"[$€£%\u00a0 ]" if dialect.thousands in ("space", "NBSP") else r"[$€£%]", "", text).strip()
    if negative == "(" and text.startswith("("):
        text = "-" + text.strip("()")
    text = text.replace("\u2212", "-")
    if THOUSANDS[dialect.thousands]:
        text = text.replace(THOUSANDS[dialect.thousands], "")
    return float(text.replace(dialect.decimal, "."))


def seconds_read(text, column, dialect):
    formats = FORMS.get(column.form)
    if not formats:
        last = "%y" if column.form == "short year" else "%Y"
        formats = [dialect.date_mark.join(["%d", "%m", last] if dialect.day_first else ["%m", "%d", last]) +
                   (" %H:%M" if column.form == "short time" else "")]
    found = datetime.datetime.strptime(text, formats[0])
    if found.tzinfo:
        found = found.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return seconds_of(found.time() if column.kind == "time" else found)


def is_cell(text, column, row, dialect):
    cell = column.cells[row]
    if row in column.odd:
        return text == column.odd[row]
    if cell is None:
        return text in dialect.missing
    if column.kind == "number":
        return number_of(text, dialect, column.negative) == float(cell)
    if column.kind == "flag":
        return text.lower() == column.spelling[cell].lower()
    return text == cell if isinstance(cell, str) else seconds_read(text, column, dialect) == seconds_of(cell)


def difference(data, dialect, frame):
    """Why the file is not the table; None where it is."""
    try:
        names, rows = table_of(data, dialect)
    except (ValueError, csv.Error, IndexError) as failed:
        return f"the file cannot be read: {failed}"
    if names is not None and names != [column.name for column in frame.columns]:
        return f"the names are {names}"
    if len(rows) != frame.rows:
        return f"{len(rows)} rows for {frame.rows}"
    for row, cells in enumerate(rows):
        if len(cells) != len(frame.columns):
            return f"row {row} has {len(cells)} cells for {len(frame.columns)}"
        for column, text in zip(frame.columns, cells):
            try:
                right = is_cell(text, column, row, dialect)
            except ValueError:
                right = False
            if not right:
                return f"row {row}, {column.name!r} ({column.family}): {text!r} for {column.cells[row]!r}"
    return None
