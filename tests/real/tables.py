"""tables.py: a file as text, its rows cut into training and test rows by a seed. Cells stay as they are."""

import csv
import gzip
import io
import random
import re

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "?")  # of a target: such rows are not scored
TEST_SHARE = 0.25


def lines_of(text):
    """The records of a CSV: a line that ends within quotes goes on."""
    record = ""
    for line in io.StringIO(text, newline=""):
        record += line
        if record.count('"') % 2 == 0:
            if record.strip():
                yield record if record.endswith("\n") else record + "\n"
            record = ""


class Table:
    """A file's head and records, as text and as cells."""

    def __init__(self, file, path):
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8", newline="") as source:
            records = list(lines_of(source.read()))
        self.file, self.head, self.records = file, "".join(records[:file.head]), records[file.head:]
        written = {"delimiter": file.delimiter, "quotechar": file.quote}
        self.rows = [next(csv.reader([record], **written)) for record in self.records]
        heads = list(csv.reader(records[:file.head], **written))
        # The names of classes stand behind the counts, where there are any.
        self.classes = [name for name in heads[0][2:] if name] if file.counted else []
        named = heads[1:] if file.counted else heads
        self.names = [name or str(index) for index, name in enumerate((named or [self.rows[0]])[-1])]
        if not named:
            self.names = list(map(str, range(len(self.names))))
        self.target = (self.names.index(file.target) if isinstance(file.target, str)
                       else file.target % len(self.names))

    def split(self, seed):
        """The numbers of the training rows and of the test rows, in the file's order."""
        numbers = list(range(len(self.rows)))
        random.Random(seed).shuffle(numbers)
        count = round(TEST_SHARE * len(numbers))
        train, test = sorted(numbers[count:]), sorted(numbers[:count])
        return train, [row for row in test if self.rows[row][self.target].strip() not in MISSING]

    def text(self, numbers):
        head = re.sub(r"^\d+", str(len(numbers)), self.head) if self.file.counted else self.head
        return (head + "".join(self.records[row] for row in numbers)).encode()

    def targets(self, numbers):
        cells = [self.rows[row][self.target].strip() for row in numbers]
        return [self.classes[int(cell)] for cell in cells] if self.classes else cells


def score(file, predicted, wanted):
    """Accuracy, or R2."""
    if not file.number:
        return sum(said == word for said, word in zip(predicted, wanted)) / len(wanted)
    numbers = [float(word) for word in wanted]
    mean = sum(numbers) / len(numbers)
    return 1 - (sum((float(said) - number) ** 2 for said, number in zip(predicted, numbers)) /
                sum((number - mean) ** 2 for number in numbers))
