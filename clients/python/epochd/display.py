"""Progress and tables, on a terminal and in a notebook."""
from __future__ import annotations

import math
import shutil
import sys
import time
from typing import Any, Callable, List, Mapping, Optional, Sequence

from .arrays import number_of
from .errors import message_of


def short(seconds: Optional[float]) -> str:
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"


def readable(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, (int, float)) else str(value)


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
    """Progress on stderr: a bar that is drawn over on a terminal, else a line for each tenth. The best trial of a
    sweep is fetched for it, at most once a second, and at the last training."""

    def __init__(self, submission: Any = None) -> None:
        self._submission = submission
        self._tty = sys.stderr.isatty()
        self._drawn, self._fetched, self._tenth, self._last = 0.0, 0.0, -1, ""

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


def escape(text: Any) -> str:
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _html(words: List[str], fraction: float, below: str) -> str:
    """A line of words, a bar, and what is below it."""
    return (f"<div><div>{' · '.join(escape(word) for word in words)}</div>"
            f"<progress max=\"1\" value=\"{fraction:.4f}\" style=\"width:400px\"></progress>{below}</div>")


def job_html(job: Mapping[str, Any], curve: Mapping[str, Any]) -> str:
    """A job for a notebook: its state, its metrics, its curve."""
    progress = job["progress"]
    words = [job["name"] or job["id"], job["status"], f"{progress['epoch']}/{progress['epochs']} epochs"]
    seconds = job["timing"]["train_seconds"]
    words += [short(seconds)] if seconds is not None else []
    test = (job["metrics"] or {}).get("test") or {}
    words += [f"test {name} {readable(value)}" for name, value in test.items() if isinstance(value, (int, float))][:4]
    words += [message_of(job["error"])] if job["error"] else []
    return _html(words, progress["fraction"], _svg(curve))


def _polyline(xs: Sequence[float], ys: Sequence[float], low: float, high: float, dash: str = "") -> str:
    """A line in a box of 400 x 160, of the values that are above 0, by powers of ten."""
    first, last = xs[0], xs[-1]
    points = " ".join(f"{(x - first) / max(1, last - first) * 400:.1f},{160 - (math.log10(y) - low) / max(1e-12, high - low) * 160:.1f}"
                      for x, y in zip(xs, ys) if y > 0)
    return f"<polyline points=\"{points}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"{dash}/>"


def layers_svg(layers: Mapping[str, Any], figure: str) -> str:
    """One figure of every layer over the epochs, by powers of ten; "" where there is nothing to draw."""
    lines = {name: [number_of(value) or 0.0 for value in layer[figure]] for name, layer in layers["layers"].items()}
    lines = {name: values for name, values in lines.items() if max(values, default=0) > 0}
    logs = [math.log10(value) for values in lines.values() for value in values if value > 0]
    if not logs:
        return ""
    dashes = ("", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\"", " stroke-dasharray=\"8 3 2 3\"")
    drawn = "".join(_polyline(layers["epoch"], values, min(logs), max(logs), dashes[i % 4]) for i, values in enumerate(lines.values()))
    words = f"{figure} {readable(10 ** min(logs))} to {readable(10 ** max(logs))}, layers {', '.join(lines)}"
    return (f"<svg role=\"img\" aria-label=\"{escape(words)}\" width=\"400\" height=\"180\" viewBox=\"-2 -4 404 184\">{drawn}"
            f"<text x=\"0\" y=\"176\" font-size=\"11\" fill=\"currentColor\">{escape(words)}</text></svg>")


def sweep_html(sweep: Mapping[str, Any], table: Table) -> str:
    """A sweep for a notebook: its state, and the trials of a table."""
    progress = sweep["progress"]
    words = [sweep["name"] or sweep["id"], sweep["status"], f"{progress['done']}/{progress['total']} trainings"]
    words += [f"best {sweep['metric']} {readable(sweep['best']['metric'])}"] if sweep["best"] else []
    words += [message_of(sweep["error"])] if sweep["error"] else []
    return _html(words, progress["fraction"], table._repr_html_() if table else "")


def _svg(curve: Mapping[str, Any], width: int = 400, height: int = 160) -> str:
    """Training loss (solid) and validation loss (dashed) over the epochs; a logarithmic axis where it can be."""
    lines = [[(epoch, number_of(value)) for epoch, value in zip(curve["epoch"], curve[name] or ()) if value is not None]
             for name in ("loss", "validation_loss")]
    lines = [[(epoch, value) for epoch, value in line if math.isfinite(value)] for line in lines]
    values = [value for line in lines for _, value in line]
    if len(values) < 2:
        return ""
    scale = math.log10 if min(values) > 0 else float
    low, high = scale(min(values)), scale(max(values))
    first, last = min(curve["epoch"]), max(curve["epoch"])
    drawn = ""
    for line, dash in zip(lines, ("", " stroke-dasharray=\"4 3\"")):
        points = " ".join(f"{(epoch - first) / max(1, last - first) * width:.1f},"
                          f"{height - (scale(value) - low) / max(1e-12, high - low) * height:.1f}" for epoch, value in line)
        if points:
            drawn += f"<polyline points=\"{points}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"{dash}/>"
    return (f"<svg role=\"img\" aria-label=\"loss\" width=\"{width}\" height=\"{height + 20}\" "
            f"viewBox=\"-2 -4 {width + 4} {height + 24}\">{drawn}<text x=\"0\" y=\"{height + 16}\" font-size=\"11\" "
            f"fill=\"currentColor\">loss {readable(min(values))} to {readable(max(values))}, epochs {first} to {last}</text></svg>")
