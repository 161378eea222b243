"""writers.py: two writers of a table in a dialect: one of all axes, and Python's csv module. Each says which of the file's
marks could be read otherwise."""

import csv
import datetime
import io
import re

from dialects.dialect import CODECS, NEWLINES, THOUSANDS
from dialects.frames import Column

MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Mon Tue Wed Thu Fri Sat Sun".split()


# --- cells ------------------------------------------------------------------------------------------------------------


def number_text(column, text, dialect):
    sign, body = ("-", text[1:]) if text[0] == "-" else ("", text)
    mantissa, exponent = re.fullmatch(r"([0-9.]+)(e.*)?", body).groups()
    whole, _, fraction = mantissa.partition(".")
    mark = THOUSANDS[dialect.thousands]
    if mark and column.grouped and not exponent and len(whole) > 3:
        whole = re.sub(r"(?<=\d)(?=(\d{3})+$)", lambda _: mark, whole)
    body = whole + (dialect.decimal + fraction if fraction else "") + (exponent or "")
    if dialect.upper:
        body = body.replace("e", "E")
    if column.unit and dialect.marks != "without":
        space = " " if dialect.marks == "spaced" else ""
        body = f"{column.unit}{body}" if column.unit in "$£" else f"{body}{space}{column.unit}"
    return f"({body})" if sign and column.negative == "(" else (column.negative if sign else "") + body


def day_text(day, form, dialect):
    year, month, number = f"{day.year:04d}", f"{day.month:02d}", f"{day.day:02d}"
    name, mark = MONTHS[day.month - 1], dialect.date_mark
    if form.startswith("short"):
        last = year[2:] if form == "short year" else year
        return mark.join([number, month, last] if dialect.day_first else [month, number, last])
    return {"slashed": f"{year}/{month}/{number}", "named first": f"{day.day} {name} {year}",
            "named after": f"{name[:3]} {day.day}, {year}", "named time": f"{day.day} {name[:3]} {year}",
            "named short": f"{number}-{name[:3]}-{year}",
            "rfc": f"{WEEKDAYS[day.weekday()]}, {number} {name[:3]} {year}"}.get(form, f"{year}-{month}-{number}")


def date_text(column, cell, dialect):
    form = column.form
    if column.kind == "day":
        return day_text(cell, form, dialect)
    if form == "half days":
        return f"{(cell.hour + 11) % 12 + 1}:{cell.minute:02d} {'AM' if cell.hour < 12 else 'PM'}"
    if column.kind == "time":
        return cell.strftime("%H:%M:%S" if form == "seconds" else "%H:%M")
    if form == "iso offset":
        cell += datetime.timedelta(hours=2)
    time = cell.strftime("%H:%M:%S" if form.startswith("iso") and form != "iso minutes" or form == "rfc" else "%H:%M")
    between = "T" if form in ("iso T", "iso Z", "iso offset") else " "
    return (day_text(cell, form, dialect) + between + time +
            {"iso Z": "Z", "iso offset": "+02:00", "rfc": " +0000"}.get(form, ""))


def flag_text(column, cell, r):
    word = column.spelling[cell]
    return r.choice([word, word.lower(), word.upper()]) if column.mixed else word


def column_texts(r, column, dialect):
    found = []
    for row, cell in enumerate(column.cells):
        if row in column.odd:
            found.append(column.odd[row])
        elif cell is None:
            found.append(r.choice(dialect.missing))
        elif column.kind == "number":
            found.append(number_text(column, cell, dialect))
        elif column.kind == "flag":
            found.append(flag_text(column, cell, r))
        else:
            found.append(cell if isinstance(cell, str) else date_text(column, cell, dialect))
    return found


def row_names_column(dialect, rows):
    cells = [f"r{row + 1}" if dialect.row_words else str(row + 1) for row in range(rows)]
    return Column("", "code", "row names", cells)


# --- the own writer ---------------------------------------------------------------------------------------------------


class Quoting:
    """Which cells are quoted."""

    def __init__(self, dialect):
        self.dialect, self.mark, self.quote = dialect, dialect.mark, dialect.quote
        self.special = set("\r\n" + self.mark + ("\t" if self.mark == " " else ""))

    def forced(self, text, first):
        """Whether the cell would be misread without quotes."""
        if not text:
            return self.mark == " "
        return (not self.special.isdisjoint(text) or text[0] in "\"'" or text != text.strip() or
                (first and text[0] in "#%"))

    def cell(self, text, first, is_number):
        quoting = self.dialect.quoting
        if quoting == "none":
            return text
        if quoting == "minimal" or (quoting == "nonnumeric" and is_number):
            if not self.forced(text, first) and self.quote not in text:
                return text
        return self.quote + text.replace(self.quote, self.quote * 2) + self.quote


def padded(r, texts, dialect, widths):
    if dialect.padding == "none":
        return texts
    if dialect.padding == "left":
        return texts[:1] + [" " + text for text in texts[1:]]
    if dialect.padding == "aligned":
        return [text.rjust(width) for text, width in zip(texts, widths)]
    return [" " * r.randrange(3) + text + " " * r.randrange(3) for text in texts]


def own_lines(r, columns, texts, dialect, rows):
    """The lines; the quoting falls back to the least where the cells cannot do without."""
    quoting, mark = Quoting(dialect), dialect.mark
    lines = [f"sep={mark}"] if dialect.sep_line else []
    lines += dialect.preamble
    widths = [max(map(len, column), default=0) for column in texts]
    end = {"none": ("", ""), "rows": ("", mark), "header": (mark, ""), "both": (mark, mark)}[dialect.trailing]
    comments = dict(dialect.comments)
    lines += comments.pop(-1, [])

    def line(cells, numbers, behind):
        found = [quoting.cell(cell, place == 0, is_number) for place, (cell, is_number) in enumerate(zip(cells, numbers))]
        return mark.join(padded(r, found, dialect, widths)) + behind

    words = [False] * len(columns)
    header = None
    if dialect.header:
        left = 1 if dialect.row_names == "R" else 0
        header = line([column.name for column in columns[left:]], words, end[0])
        lines.append(header)
    if dialect.units:
        lines.append(line([""] * (len(columns) - len(dialect.units)) + dialect.units, words, end[1]))
    numbers = [column.kind == "number" or column.spelling == ("0", "1") for column in columns]
    for row in range(rows):
        lines += comments.get(row, [])
        if row in dialect.repeats:
            lines.append(header)
        lines.append(line([column[row] for column in texts], numbers, end[1]))
    return lines + dialect.footer


def own_write(r, frame, dialect):
    columns = list(frame.columns)
    if dialect.row_names != "none":
        columns.insert(0, row_names_column(dialect, frame.rows))
    texts = [column_texts(r, column, dialect) for column in columns]
    quoting = Quoting(dialect)
    every = [(text, place) for place, column in enumerate(texts) for text in column]
    every += [(column.name, place) for place, column in enumerate(columns)]
    if dialect.quoting == "none" and any(quoting.forced(text, place == 0) for text, place in every):
        dialect.quoting = "minimal"
    if dialect.quoting == "none" and dialect.mark in (dialect.decimal, THOUSANDS[dialect.thousands]):
        dialect.quoting = "minimal"  # such marks are refused
    if len(columns) == 1 and dialect.quoting != "none" and any(set(text) & set(" ,;|\t") for text, _ in every):
        dialect.quoting = "all"
    text = NEWLINES[dialect.newline].join(own_lines(r, columns, texts, dialect, frame.rows))
    return text + (NEWLINES[dialect.newline] if dialect.final_newline else ""), texts


# --- the csv module ---------------------------------------------------------------------------------------------------


def python_value(column, row, dialect):
    cell = column.cells[row]
    if row in column.odd:
        return column.odd[row]
    if cell is None:
        return dialect.missing[0]
    if column.kind == "number":
        return float(cell) if set(cell) & set(".e") else int(cell)
    if column.kind == "instant":
        return cell.isoformat(" ")
    if column.kind == "flag":
        return column.spelling[cell]
    return str(cell)


def module_write(frame, dialect):
    rows = [[python_value(column, row, dialect) for column in frame.columns] for row in range(frame.rows)]
    constants = {"minimal": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL, "none": csv.QUOTE_NONE,
                 "nonnumeric": csv.QUOTE_NONNUMERIC}
    names = [column.name for column in frame.columns]
    if dialect.quoting == "none":  # what the module would write without a quote, though it needs one
        quoting = Quoting(dialect)
        if any(quoting.forced(str(cell), place == 0) for row in rows + [names] for place, cell in enumerate(row)):
            dialect.quoting = "minimal"
    # Before Python 3.13 the module quotes a newline within a cell only where lines end by it.
    within = any("\n" in str(cell) for row in rows for cell in row)
    if dialect.quoting == "minimal" and (len(names) == 1 or within):
        dialect.quoting = "all"

    def written():
        target = io.StringIO()
        writer = csv.writer(target, delimiter=dialect.mark, quotechar=dialect.quote, quoting=constants[dialect.quoting],
                            lineterminator=NEWLINES[dialect.newline])
        writer.writerows(([names] if dialect.header else []) + rows)
        return target.getvalue()

    try:
        text = written()
    except csv.Error:  # a quote within a cell
        dialect.quoting = "minimal"
        text = written()
    return text, [[str(cell) for cell in column] for column in zip(*rows)]


# --- what is not definite ---------------------------------------------------------------------------------------------


def mark_is_clear(text, spaced):
    """Whether the points and commas of a number show what they are; None where it has none."""
    body = re.sub(r"[eE][+-]?\d+$", "", re.sub(r"[^0-9.,eE+-]", "", text))
    marks = re.findall(r"[.,]", body)
    if not marks:
        return None
    before, _, after = re.sub(r"[^0-9.,]", "", body).partition(marks[0])
    if len(marks) > 1 or len(after) != 3 or before in ("", "0") or len(before) > 3 or spaced:
        return True
    return bool(re.search(r"[eE]", text))


def doubts(frame, dialect, texts):
    """The reasons for which the file has more than one meaning."""
    if dialect.told:
        return set()
    found = set()
    columns = frame.columns
    texts = texts[len(texts) - len(columns):]
    if frame.rows < 3:
        found.add("few rows")
    if len(columns) == 1:
        found.add("one column")
    named = [column for column in columns if column.typed and not re.fullmatch(r"[\d.]+", column.name)]
    if dialect.header and not named:
        found.add("header")
    if not dialect.header and not any(column.typed and column.cells[0] is not None for column in columns):
        found.add("header")
    if frame.eaten():
        found.add("a class that may be a gap")
    clear = set()
    days = set()
    for column, written in zip(columns, texts):
        cells = [text for text, cell in zip(written, column.cells) if cell is not None]
        if column.kind == "number":
            spaced = [bool(re.search(r"\d[ \u00a0']\d", text)) for text in cells]
            clear.update(map(mark_is_clear, cells, spaced))
            if cells and all(spaced) and len(set(map(len, cells))) == 1:
                found.add("numbers like codes")
        if column.form.startswith("short"):
            days.update((cell.day > 12 and cell.day != cell.month, cell.day == cell.month) for cell in column.cells if cell)
    if False in clear and True not in clear:
        found.add("decimal or thousands mark")
    if days and not any(day_shows for day_shows, _ in days) and not all(equal for _, equal in days):
        found.add("day or month first")
    if dialect.writer == "csv" and any(text.startswith("#") for text in texts[0]):
        found.add("a cell like a comment")
    if dialect.quote == "'" and dialect.quoting in ("minimal", "nonnumeric"):
        special = Quoting(dialect).special
        quoted = [text for column in texts for text in column if "'" in text or not special.isdisjoint(text)]
        if quoted and all(special.isdisjoint(text) for text in quoted):
            found.add("apostrophes as quotes")
    return found


def written(r, frame, dialect):
    """The bytes of the file, and the reasons for which it has more than one meaning."""
    if dialect.writer == "csv":
        for column in frame.columns:  # Python has one form of each
            column.form = {"day": "iso", "instant": "iso space", "time": "seconds"}.get(column.kind, "")
            column.family = column.kind + " of Python" if column.form else column.family
            column.unit, column.negative, column.mixed = "", "-", False
        text, texts = module_write(frame, dialect)
    else:
        text, texts = own_write(r, frame, dialect)
    codec, mark, _ = CODECS[dialect.encoding]
    return mark + text.encode(codec), doubts(frame, dialect, texts)
