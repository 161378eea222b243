"""Progress and tables, on a terminal and in a notebook."""
from __future__ import annotations

import shutil
import sys
import time
from typing import Any, Callable, List, Mapping, Optional, Sequence

from .arrays import number_of
from .charts import chart, escape
from .errors import message_of

TELLING = ("r2", "accuracy", "roc_auc", "rmse", "loss")


def short(seconds: Optional[float]) -> str:
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"


def readable(value: Any) -> str:
    """A number as a table has it: five digits, and no exponent for a large one; NaN comes as text."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.5g}"


class Table(List[Any]):
    """Rows, each a dict with the same keys; printed as a table, without the columns that are empty."""

    def _cells(self) -> List[List[str]]:
        """The titles, then the rows."""
        titles = [key for key in (self[0] if self else ()) if any(row.get(key) is not None for row in self)]
        return [titles] + [["-" if row.get(key) is None else readable(row[key]) for key in titles] for row in self]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells)]
        return "\n".join("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths)) for row in cells)

    def _repr_html_(self) -> str:
        titles, *rows = self._cells()
        lines = ["".join(f"<th>{escape(cell)}</th>" for cell in titles)]
        lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


class Terminal:
    """Progress on stderr: a bar that is drawn over on a terminal, else a line for each tenth; before it what "auto"
    chose, and after it what came of it. The best trial of a sweep is fetched for it, at most once a second, and at the
    last training."""

    def __init__(self, submission: Any = None) -> None:
        self._submission = submission
        self._tty = sys.stderr.isatty()
        self._drawn, self._fetched, self._tenth, self._last = 0.0, 0.0, -1, ""
        for words in filter(None, ((self._auto() or {}).get(key) for key in ("summary", "hint"))):
            self._line(words)

    def _auto(self) -> Any:
        return self._submission.document.get("auto") if self._submission is not None else None

    def __call__(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "epoch":
            self._show(event, event["epoch"] / event["epochs"], self._epoch)
        elif event["type"] == "batch":
            done = event["epoch"] - 1 + event["batch"] / event["batches"]
            self._show(event, done / event["epochs"], self._batch)
        elif event["type"] == "trial":
            self._show(event, event["number"] / event["numbers"], self._trial)
        elif event["type"] in ("paused", "resumed") and "epoch" in event:
            self._line(f"{event['type']}: at epoch {event['epoch']} of {event['epochs']}")
        elif event["type"] in ("paused", "resumed", "restarted", "warning", "end"):
            said = [event.get("status"), event.get("message"), message_of(event.get("error"))]
            self._line(": ".join([event["type"], *(word for word in said if word)]))

    @staticmethod
    def _epoch(event: Mapping[str, Any]) -> str:
        text = f"{event['epoch']}/{event['epochs']} loss {readable(event['loss'])}"
        return text + (f" error {readable(event['error'])}" if event.get("error") is not None else "")

    @staticmethod
    def _batch(event: Mapping[str, Any]) -> str:
        return f"{event['epoch']}/{event['epochs']} batch {event['batch']}/{event['batches']} loss {readable(event['loss'])}"

    def _trial(self, event: Mapping[str, Any]) -> str:
        text = f"{event['number']}/{event['numbers']} trainings"
        last = event["number"] == event["numbers"]
        if self._submission is not None and (last or time.monotonic() - self._fetched > 1):
            self._submission.refresh()
            self._fetched = time.monotonic()
        best = self._submission.best if self._submission is not None else None
        return text + (f" best {readable(best['metric'])}" if best else "")

    def _show(self, event: Mapping[str, Any], share: float, words: Callable[[Mapping[str, Any]], str]) -> None:
        now = time.monotonic()
        if not self._tty:
            if int(share * 10) > self._tenth:
                self._tenth = int(share * 10)
                print(words(event), file=sys.stderr)
            return
        if share < 1 and now - self._drawn <= 0.1:
            return
        text = f"{words(event)} eta {short(event['eta_seconds'])}"
        width = max(0, min(40, (shutil.get_terminal_size().columns or 80) - len(text) - 4))
        self._drawn, self._last = now, f"[{'#' * int(share * width):<{width}}] {text}"
        print(f"\r{self._last}\x1b[K", end="", file=sys.stderr, flush=True)

    def _line(self, text: str) -> None:
        if self._tty and self._last:
            print(f"\r{self._last}\x1b[K", file=sys.stderr)
            self._last = ""
        print(text, file=sys.stderr)

    def close(self) -> None:
        if self._auto():
            for words in result_words(self._submission.document, 1):
                self._line(words)
        for words in kept_words(self._submission.document if self._submission is not None else {}):
            self._line(words)
        sys.stderr.flush()


class Notebook:
    """Progress in a notebook: one display that is redrawn at most twice a second."""

    def __init__(self, submission: Any, display: Callable[..., Any]):
        self._submission, self._drawn = submission, time.monotonic()
        self._handle = display(submission, display_id=True)

    def __call__(self, event: Mapping[str, Any]) -> None:
        if event["type"] in ("epoch", "trial") and time.monotonic() - self._drawn > 0.5:
            self._drawn = time.monotonic()
            self._handle.update(self._submission.refresh())

    def close(self) -> None:
        self._handle.update(self._submission)


def progress_display(submission: Any) -> Any:
    """What draws the progress of a job or a sweep here."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        from IPython.display import display  # IPython is imported already in a notebook
        return Notebook(submission, display)
    return Terminal(submission)


def _html(words: List[str], fraction: float, below: str) -> str:
    """A line of words, a bar, and what is below it."""
    return (f"<div><div>{' · '.join(escape(word) for word in words)}</div>"
            f"<progress max=\"1\" value=\"{fraction:.4f}\" style=\"width:400px\"></progress>{below}</div>")


def job_words(job: Mapping[str, Any]) -> List[str]:
    """What a job is now, in a few words."""
    progress = job["progress"]
    words = [job["status"], f"{progress['epoch']}/{progress['epochs']} epochs", *result_words(job), *kept_words(job), message_of(job["error"])]
    return [word for word in words if word]


def result_words(job: Mapping[str, Any], most: int = 3) -> List[str]:
    """The metrics of the test rows that say the most; first the one that the daemon compares, and what it is without a
    network."""
    tested = job.get("metrics") or {}
    metrics, baseline = tested.get("test") or {}, tested.get("baseline") or {}
    names = [name for name in dict.fromkeys([baseline.get("metric"), *(["mae"] if "mae" in baseline else []), *TELLING]) if metrics.get(name) is not None]
    held = {baseline.get("metric"): baseline.get("value"), "mae": baseline.get("mae")}
    window = ((job.get("spec") or {}).get("data") or {}).get("window")
    ahead = f", {window['horizon']} row{'' if window['horizon'] == 1 else 's'} ahead" if window else ""

    def words(name: str) -> str:  # test r2 0.92 (the mean alone: 0)
        beside = f" ({baseline.get('of')}: {readable(held[name])})" if held.get(name) is not None else ""
        return f"test {name} {readable(metrics[name])}{beside}"
    found = [words(name) for name in names[:most]]
    return [*found[:-1], found[-1] + ahead] if found else []


def kept_words(job: Mapping[str, Any]) -> List[str]:
    """Which epoch's weights it ended with, and why; nothing for the last one's."""
    return [f"kept {job['kept']['reason']}"] if job.get("kept") else []


def job_html(job: Mapping[str, Any], curve: Mapping[str, Any]) -> str:
    """A job for a notebook: its state, what "auto" chose, its metrics, its curve."""
    summary = (job.get("auto") or {}).get("summary", "")
    seconds = job["timing"]["train_seconds"]
    words = [job["name"] or job["id"], *job_words(job)] + ([short(seconds)] if seconds is not None else [])
    return _html(words, job["progress"]["fraction"], (f"<p>{escape(summary)}</p>" if summary else "") + curve_svg(curve))


def curve_svg(curve: Mapping[str, Any], figure: str = "loss") -> str:
    """A figure of the training rows and that of the validation rows, over the epochs; "" where there is none."""
    lines = {words: [(epoch, number_of(value)) for epoch, value in zip(curve["epoch"], curve[name]) if value is not None]
             for name, words in ((figure, "training"), (f"validation_{figure}", "validation")) if curve.get(name) is not None}
    return chart(lines, "epoch", figure)


def layers_svg(layers: Mapping[str, Any], figure: str) -> str:
    """One figure of every layer over the epochs; "" where there is nothing to draw."""
    lines = {f"{name} {layer['type']}": [(epoch, number_of(value)) for epoch, value in zip(layers["epoch"], layer[figure]) if value]
             for name, layer in layers["layers"].items()}
    return chart(lines, "epoch", figure.replace("_", " "))


def sweep_words(sweep: Mapping[str, Any]) -> List[str]:
    """What a sweep is now, in a few words."""
    progress, best = sweep["progress"], sweep["best"]
    words = [sweep["status"], f"{progress['done']}/{progress['total']} trainings",
             f"best {sweep['metric']} {readable(best['metric'])}" if best else "", message_of(sweep["error"])]
    return [word for word in words if word]


def sweep_html(sweep: Mapping[str, Any], table: Table) -> str:
    """A sweep for a notebook: its state, and the trials of a table."""
    return _html([sweep["name"] or sweep["id"], *sweep_words(sweep)], sweep["progress"]["fraction"], table._repr_html_() if table else "")
