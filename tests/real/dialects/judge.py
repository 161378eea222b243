"""judge.py: compares what the daemon has of a table with what was meant."""

import dataclasses
import datetime
import re
import unicodedata

from dialects.frames import seconds_of

RELATIVE = 1e-14  # rows have 15 digits
TRUE, FALSE = {"true", "yes", "y", "t", "1", "1.0", "on"}, {"false", "no", "n", "f", "0", "0.0", "off"}
IDENTIFIER_ROWS = 50  # as many words in more rows are text, which is not stored

# A note of the whole file explains a difference where it has one of these words.
HEADER, FOOTER = "header|first line|names", "footer|last line|last row|end of the"
MORE_ROWS = f"{HEADER}|{FOOTER}|unit|repeated|comment|preamble"
COLUMNS = "row names|trailing|ends? in a delimiter|delimiter|without a name|has no name"


@dataclasses.dataclass
class Verdict:
    """kind: ok, silent, noted, expected (a note or a refusal of what is not definite), refused, harness."""
    kind: str
    reason: str = ""
    part: str = ""  # the axis that it is about: of a column its family


def plain(text):
    return unicodedata.normalize("NFC", text).strip()


def seconds_shown(text):
    """What a date in a row means; None where it is none."""
    for shape in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%H:%M:%S"):
        try:
            found = datetime.datetime.strptime(text, shape)
        except ValueError:
            continue
        return seconds_of(found.time() if shape[1] == "H" else found)
    return None


def same_number(shown, meant):
    if isinstance(shown, bool) or not isinstance(shown, (int, float)):
        return False
    return abs(shown - meant) <= RELATIVE * abs(meant)


def same_cell(shown, cell, kind):
    if cell is None:
        return shown is None
    if shown is None:
        return False
    if kind == "number":
        return same_number(shown, float(cell))
    if kind == "flag":
        return (str(shown).strip().lower() in (TRUE if cell else FALSE))
    if kind == "word":
        return isinstance(shown, str) and plain(shown) == plain(cell)
    if kind == "code":  # one that is a number may be one
        if isinstance(shown, str):
            return plain(shown) == plain(cell)
        return bool(re.fullmatch(r"\d{1,15}|\d+E\d", cell)) and same_number(shown, float(cell))
    return isinstance(shown, str) and seconds_shown(shown) == seconds_of(cell)


class Description:
    """What an upload was answered, and its rows."""

    def __init__(self, answer, rows):
        self.columns = answer["columns"]
        self.rows = rows  # lists of cells, by the columns
        self.notes = list(answer.get("notes") or [])
        if not self.notes and answer.get("note"):
            self.notes = [answer["note"]]
        faults = answer.get("faults") or []
        self.notes += [str(fault) for fault in faults] if isinstance(faults, list) else [str(faults)]

    def has_note(self, place):
        """Whether a note names the column."""
        name = self.columns[place]["name"]
        if self.columns[place].get("note"):
            return True
        names = [re.escape(f'"{name}"')] if name else []
        pattern = re.compile("|".join([rf"\bcolumn {place + 1}\b"] + names))
        return any(pattern.search(note) for note in self.notes)

    def explained(self, words):
        return any(re.search(words, note) for note in self.notes)

    def is_text(self, place):
        return self.columns[place]["type"] == "text"


def row_is(found, row, columns, meant):
    return all(found.is_text(place) or same_cell(cell, column.cells[meant], column.kind)
               for place, (column, cell) in enumerate(zip(columns, found.rows[row])))


def rows_explained(found, columns, rows):
    """Whether a note says why there are more or fewer: of rows that are gone, only the first or the last may be."""
    if len(found.rows) > rows:
        return found.explained(MORE_ROWS)
    if len(found.rows) < max(1, rows - 1):
        return False
    first, last = row_is(found, 0, columns, 0), row_is(found, -1, columns, rows - 1)
    return found.explained(HEADER) if last and not first else found.explained(FOOTER) if first and not last else False


def shape_judge(found, columns, rows, names):
    """Where columns or rows are more or fewer, or are called otherwise; None where they are as meant."""
    def verdict(explained, reason, part):
        return Verdict("noted" if explained else "silent", reason, part)

    if len(found.columns) != len(columns):
        return verdict(found.explained(COLUMNS), f"{len(found.columns)} columns for {len(columns)}", "columns")
    if len(found.rows) != rows:
        return verdict(rows_explained(found, columns, rows), f"{len(found.rows)} rows for {rows}", "rows")
    for place, (column, name) in enumerate(zip(found.columns, names or [])):
        if name is not None and plain(column["name"]) != plain(name):
            return verdict(found.explained(HEADER), f"column {place + 1} is called {column['name']!r} for {name!r}", "names")
    return None


def text_difference(found, place, column):
    """Of a column that is text, whose cells are not stored: only counts can be compared."""
    cells = [cell for cell in column.cells if cell is not None]
    distinct = len(set(map(str, cells)))
    if column.kind not in ("word", "code") or distinct < len(cells) or len(cells) <= IDENTIFIER_ROWS:
        return f"{column.kind} ({column.family}) became text"
    described = found.columns[place]
    if described.get("missing") != len(column.cells) - len(cells):
        return f"{described.get('missing')} missing cells for {len(column.cells) - len(cells)}"
    if described.get("distinct") not in (None, 0, distinct):
        return f"{described['distinct']} distinct words for {distinct}"
    return None


def column_difference(found, place, column):
    if found.is_text(place):
        return text_difference(found, place, column)
    for row, cell in enumerate(column.cells):
        shown = found.rows[row][place]
        if not same_cell(shown, cell, column.kind):
            meant = column.odd.get(row, cell)
            return f"row {row + 1}: {shown!r} for {str(meant)!r} ({found.columns[place]['type']})"
        if row in column.odd and not found.has_note(place):
            return f"row {row + 1}: {column.odd[row]!r} is missing without a note"
    return None


def judge(found, columns, rows, names):
    """columns: those meant, with that of row names where there are any; names: of each, None: any; or None."""
    shape = shape_judge(found, columns, rows, names)
    if shape:
        return shape
    verdict = Verdict("ok")
    for place, column in enumerate(columns):
        reason = column_difference(found, place, column)
        if not reason:
            continue
        reason = f"column {place + 1} {column.name!r}, {column.family}, {reason}"
        if not found.has_note(place):
            return Verdict("silent", reason, column.family)
        kind = "expected" if column.note_expected else "noted"
        if verdict.kind in ("ok", "expected"):
            verdict = Verdict(kind, reason, column.family)
    return verdict


CORRUPTIONS = ["two columns swapped", "a number changed by one", "a row left out", "a word changed", "a day later",
               "a gap filled"]


def corrupted(r, what, found, columns, rows):
    """The columns after one deliberate fault, and how many rows they have; None where the table has no place for it."""
    copies = [dataclasses.replace(column, cells=list(column.cells), note_expected=False) for column in columns]

    def cells_of(*kinds):
        cells = [(column, row) for place, column in enumerate(copies) if column.kind in kinds and not found.is_text(place)
                 for row, cell in enumerate(column.cells) if cell is not None]
        return r.choice(cells) if cells else (None, 0)

    if what == "two columns swapped":
        numbers = [place for place, column in enumerate(copies) if column.kind == "number"]
        pairs = [(a, b) for a in numbers for b in numbers if a < b and
                 any(not same_cell(float(one), other, "number") for one, other in zip(copies[a].cells, copies[b].cells)
                     if one is not None and other is not None)]
        if not pairs:
            return None
        a, b = r.choice(pairs)
        copies[a].cells, copies[b].cells = copies[b].cells, copies[a].cells
    elif what == "a number changed by one":
        column, row = cells_of("number")
        if not column or abs(float(column.cells[row])) > 1e12:
            return None
        column.cells[row] = repr(float(column.cells[row]) + 1)
    elif what == "a row left out":
        return copies, rows - 1
    elif what == "a word changed":
        column, row = cells_of("word")
        if not column:
            return None
        column.cells[row] += "x"
    elif what == "a day later":
        column, row = cells_of("day", "instant")
        if not column:
            return None
        column.cells[row] += datetime.timedelta(days=1)
    else:
        gaps = [(column, row) for column in copies if column.kind == "number"
                for row, cell in enumerate(column.cells) if cell is None and row not in column.odd]
        if not gaps:
            return None
        column, row = r.choice(gaps)
        column.cells[row] = "0"
    return copies, rows
