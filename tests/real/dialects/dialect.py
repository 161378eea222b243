"""dialect.py: how a table is written: a random choice on every axis, of those that leave the file one meaning."""

import dataclasses
import urllib.parse

CODECS = {  # name: Python's codec, byte order mark, the daemon's word
    "utf-8": ("utf-8", b"", "utf-8"),
    "utf-8 mark": ("utf-8", b"\xef\xbb\xbf", "utf-8"),
    "utf-16le mark": ("utf-16-le", b"\xff\xfe", "utf-16le"),
    "utf-16be mark": ("utf-16-be", b"\xfe\xff", "utf-16be"),
    "utf-16le": ("utf-16-le", b"", "utf-16le"),
    "utf-16be": ("utf-16-be", b"", "utf-16be"),
    "windows-1252": ("cp1252", b"", "windows-1252"),
}
NEWLINES = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
SPACES = {"space": " ", "NBSP": "\u00a0"}  # between thousands
THOUSANDS = {"none": "", ",": ",", ".": ".", "'": "'", **SPACES}
DEFAULT_MISSING = ["NA", "-", "n/a", "null", "NaN", "?", "N/A", "NULL", "None"]
OTHER_MISSING = ["missing", "n.a.", "--", "xx", "nil", "-999"]
PREAMBLES = ["Report of sales", "Created 2024", "Confidential", "Station 17", "Source: https://example.org/data", ""]
FOOTERS = ["Total: {rows} rows", "# end", "End of file", "({rows} rows)", "Source: the office"]
NUMBER_UNITS = ["kg", "m", "[m]", "(s)", "km/h", "mm", "°C"]


@dataclasses.dataclass
class Dialect:
    writer: str = "own"
    encoding: str = "utf-8"
    newline: str = "LF"
    delimiter: str = "comma"
    quoting: str = "minimal"  # all, none, nonnumeric
    quote: str = '"'
    preamble: list = dataclasses.field(default_factory=list)
    comment: str = ""  # the character
    comments: dict = dataclasses.field(default_factory=dict)  # texts, by the row of data that they stand before
    units: list = None  # of each column
    header: bool = True
    repeats: list = dataclasses.field(default_factory=list)  # the header stands again before these rows of data
    footer: list = dataclasses.field(default_factory=list)
    row_names: str = "none"  # R: no name in the header; empty: an empty one, as of pandas
    row_words: bool = False  # row names are words
    trailing: str = "none"  # rows, header, both
    decimal: str = "."
    thousands: str = "none"
    missing: list = dataclasses.field(default_factory=lambda: [""])  # one of them for each gap
    day_first: bool = True
    date_mark: str = "/"
    padding: str = "none"  # left, both, aligned
    final_newline: bool = True
    sep_line: bool = False
    marks: str = "plain"  # of units: glued, spaced
    upper: bool = False  # 1E5
    told: bool = False  # the keys are given

    @property
    def mark(self):
        return DELIMITERS[self.delimiter]

    @property
    def custom_missing(self):
        return [word for word in self.missing if word and word not in DEFAULT_MISSING]

    def query(self, frame):
        """All keys of the contract."""
        keys = {
            "encoding": CODECS[self.encoding][2],
            "delimiter": self.delimiter,
            "quote": "none" if self.quoting == "none" else self.quote,
            "header": str(self.header).lower(),
            "row_names": str(self.row_names == "R").lower(),
            "preamble": str(len(self.preamble)),
            "comment": self.comment or "none",
            "decimal": self.decimal,
            "thousands": "space" if self.thousands in SPACES else self.thousands,
            "missing": ",".join(word for word in self.missing if word),
        }
        if any(column.form.startswith("short") for column in frame.columns):
            keys["dates"] = "day_first" if self.day_first else "month_first"
        return urllib.parse.urlencode(keys, quote_via=urllib.parse.quote)

    def axes(self):
        """The axis and the value, as the summary has them."""
        def count(what):
            return "some" if what else "none"
        return {"writer": self.writer, "encoding": self.encoding, "line ends": self.newline, "delimiter": self.delimiter,
                "quoting": self.quoting, "quote": self.quote, "preamble": count(self.preamble),
                "comments": self.comment or "none", "units row": count(self.units), "header": "yes" if self.header else "no",
                "repeated header": count(self.repeats), "footer": count(self.footer), "row names": self.row_names,
                "trailing": self.trailing, "decimal": self.decimal, "thousands": self.thousands,
                "missing": " ".join(repr(word) for word in self.missing), "dates": "day" if self.day_first else "month",
                "padding": self.padding, "final newline": "yes" if self.final_newline else "no",
                "sep=": "yes" if self.sep_line else "no", "options": "given" if self.told else "detected"}


def encodable(frame, codec):
    try:
        "".join(frame.texts()).encode(codec)
        return True
    except UnicodeEncodeError:
        return False


def misread_as_utf8(frame):
    """Whether the bytes of Windows-1252 would be valid UTF-8."""
    try:
        "\n".join(frame.texts()).encode("cp1252").decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def encoding_choose(r, frame):
    found = r.choices(list(CODECS), [45, 12, 8, 4, 4, 6, 21])[0]
    if found == "windows-1252" and (not encodable(frame, "cp1252") or misread_as_utf8(frame)):
        return "utf-8"
    return found


def missing_choose(r, frame, dialect):
    kind = r.choices(["empty", "word", "both", "other"], [45, 25, 15, 15])[0]
    if dialect.delimiter == "space" or len(frame.columns) == 1:
        kind = "word" if kind != "other" else kind
    if kind == "empty":
        return [""]
    if kind == "other":
        word = r.choice(OTHER_MISSING if dialect.told else OTHER_MISSING[:-1])
        # Without the key, a word among words is a word, and one of many cells of numbers is more than a gap.
        odd = any(column.kind in ("word", "code", "flag") or 5 * column.cells.count(None) > frame.rows
                  for column in frame.columns if None in column.cells)
        # a cell that is there, or an odd one that needs a note, would become a gap
        taken = any(word in column.odd.values() or word in map(str, column.cells) or
                    any(isinstance(cell, (int, float)) and str(cell).startswith(word) for cell in column.cells)
                    for column in frame.columns)
        if not taken and (dialect.told or not odd):
            return [word]
    words = [r.choice([word for word in DEFAULT_MISSING if word not in frame.eaten()])]
    return words + [""] if kind == "both" else words


def cells_of(line, mark):
    return len(line.split()) if mark == " " else line.count(mark) + 1


def around_choose(r, frame, dialect):
    """What stands before, between and behind the rows: of a table that shows its width, short lines that do not."""
    columns, rows, mark = len(frame.columns), frame.rows, dialect.mark
    width = columns + (dialect.row_names != "none")
    if columns < 2 or rows < 5:
        return
    short = [line for line in PREAMBLES if cells_of(line, mark) < width]
    if r.random() < 0.12 and any(short):
        dialect.preamble = [r.choice([line for line in short if line])] + r.choices(short, k=r.randrange(0, 4))
    text = "# measured by hand"
    if r.random() < 0.1 and cells_of(text, mark) < width:
        dialect.comment = r.choice("##%")
        text = text.replace("#", dialect.comment)
        places = [] if dialect.preamble else [-1] * r.randrange(0, 3)  # -1: above the header
        places += [r.randrange(1, rows) for _ in range(r.randrange(0 if places else 1, 3))]
        dialect.comments = {place: [text] * places.count(place) for place in places}
    short = [line for line in FOOTERS if cells_of(line, mark) < width]
    if r.random() < 0.1 and short:
        dialect.footer = r.choice([[], [""]]) + [r.choice(short).format(rows=rows)]
    numbers = [column for column in frame.columns if column.kind == "number" and column.typed]
    typed = any(column.typed for column in frame.columns)
    if dialect.header and len(numbers) > 1 and mark != " " and r.random() < 0.08:
        dialect.units = [r.choice(NUMBER_UNITS[:-1]) if column in numbers else "" for column in frame.columns]
    whole_header = dialect.row_names == "none" and dialect.trailing in ("none", "both")
    if dialect.header and typed and rows >= 10 and whole_header and r.random() < 0.06:
        dialect.repeats = sorted(r.sample(range(2, rows), r.randrange(1, 3)))


def quoting_choose(r, frame, dialect):
    dialect.quote = r.choices(['"', "'"], [85, 15])[0]
    dialect.quoting = r.choices(["minimal", "all", "none", "nonnumeric"], [45, 20, 20, 15])[0]


def marks_choose(r, dialect):
    dialect.decimal = r.choices([".", ","], [60, 40])[0]
    other = {".": ",", ",": "."}[dialect.decimal]
    choices = ["none", "none", other, other, "'", "space", "NBSP"]
    if dialect.delimiter == "space":
        choices = ["none", other]
    if dialect.quote == "'":
        choices = [mark for mark in choices if mark != "'"]
    dialect.thousands = r.choice(choices)


def dialect_random(r, frame):
    """The dialect of an upload."""
    dialect = Dialect(told=r.random() < 0.2)
    if r.random() < 0.2:
        return module_random(r, frame, dialect)
    few = len(frame.columns) < 2 or frame.rows < 5
    dialect.encoding = encoding_choose(r, frame)
    dialect.newline = r.choices(list(NEWLINES), [55, 33, 12])[0]
    dialect.delimiter = r.choices(list(DELIMITERS), [35, 25, 20, 10, 10])[0]
    quoting_choose(r, frame, dialect)
    marks_choose(r, dialect)
    dialect.missing = missing_choose(r, frame, dialect)
    dialect.header = r.random() < 0.85
    dialect.day_first = r.random() < 0.6
    dialect.date_mark = r.choice("//.-")
    dialect.marks = r.choice(["glued", "spaced"])
    dialect.upper = r.random() < 0.3
    dialect.final_newline = r.random() < 0.85
    if dialect.header and r.random() < 0.12 and not few:
        dialect.row_names = r.choice(["R", "R", "empty"])
        dialect.row_words = r.random() < 0.5
    elif dialect.delimiter != "space" and not few and r.random() < 0.12:
        dialect.trailing = r.choice(["rows", "rows", "both", "both", "header"] if dialect.header else ["rows"])
    around_choose(r, frame, dialect)
    if dialect.delimiter != "space" and len(frame.columns) > 1 and r.random() < 0.15:
        dialect.padding = r.choice(["left", "both", "aligned"])
    if not (dialect.told or dialect.preamble or dialect.comment or dialect.delimiter == "space" or few):
        dialect.sep_line = r.random() < 0.06
    return dialect


def module_random(r, frame, dialect):
    """What Python's csv module writes of Python's values."""
    dialect.writer = "csv"
    dialect.encoding = encoding_choose(r, frame)
    dialect.newline = r.choices(list(NEWLINES), [45, 45, 10])[0]
    dialect.delimiter = r.choices(list(DELIMITERS), [45, 20, 20, 10, 5])[0]
    quoting_choose(r, frame, dialect)
    dialect.header = r.random() < 0.85
    dialect.missing = ["NA"] if dialect.delimiter == "space" or len(frame.columns) == 1 else [""]
    return dialect


def dialect_for_rows(r, frame, upload):
    """Another dialect than that of the upload, for rows to predict. All of its keys are given, and nothing stands in it
    that has no key."""
    dialect = Dialect(told=True)
    dialect.encoding = encoding_choose(r, frame)
    dialect.newline = r.choice(list(NEWLINES))
    dialect.delimiter = r.choice(list(DELIMITERS))
    quoting_choose(r, frame, dialect)
    marks_choose(r, dialect)
    dialect.missing = missing_choose(r, frame, dialect)
    dialect.header = upload.header
    dialect.day_first, dialect.date_mark = r.random() < 0.5, r.choice("//.-")
    dialect.marks, dialect.upper = r.choice(["glued", "spaced", "without"]), r.random() < 0.5
    dialect.final_newline = r.random() < 0.8
    if upload.row_names != "none":
        dialect.row_names, dialect.row_words = upload.row_names, upload.row_words
    if r.random() < 0.2 and dialect.delimiter != "space":
        dialect.preamble = ["Rows to predict"] * r.randrange(1, 3)
    if r.random() < 0.2:
        dialect.comment, dialect.comments = "#", {0: ["# rows to predict"]}
    if r.random() < 0.2 and dialect.delimiter != "space":
        dialect.padding = "both"
    return dialect
