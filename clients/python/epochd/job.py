"""A job: its curve, its weights, its predictions."""
from __future__ import annotations

import json
import os
import warnings
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote, urlencode

from .arrays import array_of, number_of, read_safetensors, vector
from .dialect import dialect_query, worded
from .display import curve_svg, job_html, job_words, layers_svg
from .fields import Fields
from .submission import Submission
from .tables import cells, is_table, plain, rows_of

PREDICT_ROWS = 100_000  # the daemon's limit of one request
PREDICT_BYTES = 4 << 20  # well below the daemon's limit
Checkpoint = Union[int, str, None]  # a step, or "latest"
PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8": "image/jpeg", b"PK": "application/zip"}  # by their first bytes


def warned(answer: Dict[str, Any]) -> Dict[str, Any]:
    """The answer; what it warns of, such as words that the model does not know, goes to Python's warnings."""
    lines = [f"{each['pointer']}: {each['detail']}" for each in answer.get("warnings", [])]
    if lines and "warnings_left_out" in answer:
        lines.append(f"and {answer['warnings_left_out']} more")
    if lines:
        warnings.warn(worded("\n".join(lines)), stacklevel=3)
    return answer


class Curve(Fields):
    """A job's history: curve.loss is curve["loss"]."""

    def __repr__(self) -> str:
        names = [name for name, values in self.items() if values is not None]
        return f"<Curve of {len(self['epoch'])} epochs: {', '.join(names)}>"

    def svg(self, figure: str = "loss") -> str:
        """A picture of the loss, or of another figure: "error". Training is a solid line, validation a dashed one."""
        return curve_svg(self, figure)

    def _repr_html_(self) -> str:
        return self.svg("loss") + self.svg("error")


class Layers(Dict[str, Any]):
    """The figures of a job's layers over its epochs."""

    def __init__(self, events: List[Dict[str, Any]]):
        names = [layer["layer"] for layer in events[-1]["layers"]] if events else []
        super().__init__(epoch=[event["epoch"] for event in events], layers={
            name: {"type": events[-1]["layers"][i]["type"],
                   **{key: [event["layers"][i][key] for event in events]
                      for key in ("gradient_norm", "weight_norm", "dead", "low", "high", "counts")}}
            for i, name in enumerate(names)})

    def _repr_html_(self) -> str:
        return layers_svg(self, "gradient_norm") + layers_svg(self, "weight_norm")


class Job(Submission):
    """A job as last fetched; `refresh` fetches it again. Fields of the response are attributes too:
    job.status, job.metrics, job.timing, job.spec, …"""

    _root = "/v1/jobs"
    _words = staticmethod(job_words)

    def curve(self, max_points: Optional[int] = None) -> Curve:
        """The history: `epoch`, `loss`, `error`, `validation_loss`, … as arrays; None where there is none. A notebook
        draws it."""
        curve = self._client._json("GET", f"{self._path}/curve" + (f"?max_points={max_points}" if max_points else ""))
        return Curve({name: vector(values) for name, values in curve.items() if name not in ("object", "job", "points")})

    def checkpoints(self) -> List[Dict[str, Any]]:
        """The job's checkpoints, newest first: `step`, `epoch`, `loss`, `created_at`, …"""
        return self._client._json("GET", f"{self._path}/checkpoints")["data"]

    def webhooks(self) -> List[Dict[str, Any]]:
        """The messages to the job's webhooks, and what came of each: `event`, `status`, `attempts`, …"""
        return self._client._json("GET", f"{self._path}/webhooks")["data"]

    def weights(self, checkpoint: Checkpoint = None) -> Dict[str, Any]:
        """The weights under PyTorch's names, `0.weight` [out, in] and so on: those of the job's end, or of a
        checkpoint, a step of `checkpoints` or "latest", also while the job trains."""
        return read_safetensors(self._client._bytes("GET", self._weights_path(checkpoint)))

    def save(self, path: Union[str, "os.PathLike[str]"], format: str = "safetensors", checkpoint: Checkpoint = None,
             quantize: Optional[str] = None) -> None:
        """Writes the weights into a file: safetensors, npz, json, onnx or c, a header of C99 that predicts; of a
        checkpoint, safetensors. quantize="int8" is for c. The file's old content stays until the download is whole."""
        asked = {"format": None if format == "safetensors" else format, "quantize": quantize}
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        content = self._client._bytes("GET", self._weights_path(checkpoint) + ("?" + query if query else ""))
        with open(path, "wb") as file:
            file.write(content)

    def predictions(self, format: str = "json", spreadsheet: bool = False) -> Any:
        """The targets of the test rows, and the network's predictions; with format="csv" as text. spreadsheet: with an
        apostrophe before texts that a spreadsheet would run as a formula."""
        return self._client._document("GET", f"{self._path}/predictions", format, spreadsheet)

    def plots(self) -> List[Dict[str, Any]]:
        """The plots that fit the job, which has ended: `name`, `shows`, `needs`, `link`."""
        return self._client._json("GET", f"{self._path}/plots")["data"]

    def plot(self, name: str, format: str = "json", **options: Any) -> Any:
        """The numbers of a plot ("roc", "confusion", …) as a dict; with format="svg" a picture as text, with "png"
        one as bytes. Options are those of the API: normalize=True, column="age", x="a", y="b", size=200,
        epoch="latest" … A "timelapse" as "png" is an animated PNG."""
        asked = {key: str(value).lower() if isinstance(value, bool) else value for key, value in options.items()}
        content = self._client._bytes("GET", f"{self._path}/plots/{quote(name, safe='')}?{urlencode({**asked, 'format': format})}")
        return json.loads(content) if format == "json" else content.decode() if format == "svg" else content

    def layers(self) -> Layers:
        """What each layer looked like over the epochs, of a job with "report": {"layers": True}: `epoch`, a list, and
        `layers`, by name, each with lists as long: `gradient_norm`, `weight_norm`, `dead`, `low`, `high`, `counts`. A
        notebook draws it."""
        return Layers([event for event in self.events(follow=False, every=1_000_000_000) if event["type"] == "layers"])

    def decide(self, x: Any, threshold: Any = "f1", checkpoint: Checkpoint = None) -> Dict[str, Any]:
        """Of a job with two classes: `classes`, `probabilities`, `threshold` and `positive` for rows, where a row is of
        the positive class from a probability on: a number, "f1" (that of the best F1), or "fp:1,fn:5" (of the least cost, where a
        wrong yes and a wrong no cost so much)."""
        key, rows = _asked(x)
        return warned(self._client._json("POST", self._predict_path(checkpoint), {key: rows, "threshold": threshold}, retry=True))

    def predict(self, x: Any, checkpoint: Checkpoint = None, steps: Optional[int] = None, future: Any = None) -> Any:
        """Predictions for rows, many of them sent in pieces. Of a dict, a list of dicts, or a DataFrame, cells by the
        names of the table's columns: the class of each row, or its number; one of one dict. Of an array: the network's
        outputs, [rows, outputs]. Of a PNG or JPEG, as a file's path or bytes: its class, or its number; of a ZIP or TAR
        of pictures a dict of these by the pictures' names.

        With a checkpoint, a step of `checkpoints` or "latest", also while the job trains. Of a job with windows,
        `steps` forecasts so many rows after x, a DataFrame or dicts of the last rows of a series, or a path or bytes of
        a CSV; `future` has the rows after them where other columns than the target are features. Of several series it
        is a dict: the forecast of each."""
        if future is not None and steps is None:
            raise ValueError("future requires steps, the number of rows to forecast")
        if steps is not None:
            body = {"rows": x, **({} if future is None else {"future": future})}
            body = {key: _bytes(rows).decode() if _is_file(rows) else cells(rows_of(rows)) for key, rows in body.items()}
            path = self._predict_path(checkpoint)
            answer = warned(self._client._json("POST", path, {**body, "steps": int(steps)}, retry=True))
            if "names" not in answer:
                return _outputs([answer])
            of: Dict[str, List[Any]] = {}
            for name, row in zip(answer["names"], answer["predictions"]):
                of.setdefault(name, []).append(row)
            return {name: _outputs([{"predictions": rows}]) for name, rows in of.items()}
        if isinstance(x, Mapping):
            return plain(self.predict([x], checkpoint))[0]
        if isinstance(x, (str, os.PathLike)) and str(x).lower().endswith((".csv", ".tsv", ".txt", ".ndjson", ".json")):
            raise ValueError(f"{x} is a table, not a picture: use predict_csv")
        if isinstance(x, (str, bytes, bytearray, os.PathLike)):
            return self._pictures(x, checkpoint)
        key, rows = _asked(x)
        answers = self._answers(key, rows, checkpoint)
        if key == "rows" and all("classes" in answer for answer in answers):
            return array_of([name for answer in answers for name in answer["classes"]])
        outputs = _outputs(answers)
        return array_of([row[0] for row in outputs]) if key == "rows" and all(len(row) == 1 for row in outputs) else outputs

    def _answers(self, key: str, rows: List[Any], checkpoint: Checkpoint = None) -> List[Dict[str, Any]]:
        """The responses for rows, "x" or "rows" of a request, in pieces of what one request may carry."""
        piece = max(1, min(PREDICT_ROWS, PREDICT_BYTES // (2 * len(json.dumps(rows[0])) + 64))) if rows else 1
        return [warned(self._client._json("POST", self._predict_path(checkpoint), {key: rows[first:first + piece]}, retry=True))
                for first in range(0, len(rows), piece)]

    def _pictures(self, source: Union[str, bytes, bytearray, "os.PathLike[str]"], checkpoint: Checkpoint) -> Any:
        if not isinstance(source, (bytes, bytearray)):
            with open(source, "rb") as file:
                source = file.read()
        kind = next((kind for start, kind in PICTURES.items() if source.startswith(start)), "application/x-tar")
        answer = warned(self._client._json("POST", self._predict_path(checkpoint), bytes(source), {"Content-Type": kind}, retry=True))
        outputs = plain(_outputs([answer]))
        found = answer.get("classes") or [row[0] if len(row) == 1 else row for row in outputs]
        return found[0] if kind.startswith("image/") else dict(zip(answer["names"], found))

    def _predict_path(self, checkpoint: Checkpoint) -> str:
        return f"{self._path}/predict" + ("" if checkpoint is None else "?" + urlencode({"checkpoint": checkpoint}))

    def predict_csv(self, source: Any, checkpoint: Checkpoint = None, steps: Optional[int] = None, format: str = "json",
                    spreadsheet: bool = False, **dialect: Any) -> Any:
        """The daemon's whole answer for a CSV with the names of the columns: `predictions`, of a classifier `classes`
        and `probabilities`. `source` is a file's path, an open binary file, or bytes. It is read as the file was that
        the job learnt from, but for the keys of `dialect`: those of `Client.upload`. `steps`: as in `predict`. With format="csv" the text
        of a CSV: the rows as they were with the predictions behind them, or of a forecast the series, time and prediction
        of each row; `spreadsheet`: as in `predictions`."""
        query = {key: value for key, value in (("checkpoint", checkpoint), ("steps", steps)) if value is not None}
        query.update(dialect_query(dialect))
        path = f"{self._path}/predict" + (f"?{urlencode(query)}" if query else "")
        return self._client._document("POST", path, format, spreadsheet, _bytes(source), {"Content-Type": "text/csv"}, retry=True)

    def _weights_path(self, checkpoint: Checkpoint) -> str:
        return self._path + ("" if checkpoint is None else f"/checkpoints/{quote(str(checkpoint), safe='')}") + "/weights"

    def _repr_html_(self) -> str:
        curve = self._client._json("GET", f"{self._path}/curve?max_points=400")
        return job_html(self.document, curve)


def _is_file(source: Any) -> bool:
    return hasattr(source, "read") or isinstance(source, (str, bytes, bytearray, os.PathLike))


def _bytes(source: Any) -> bytes:
    """What a file's path, an open binary file, or bytes hold."""
    if hasattr(source, "read"):
        return source.read()
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    with open(source, "rb") as file:
        return file.read()


def _asked(x: Any) -> Tuple[str, List[Any]]:
    """The rows to predict as a request has them, and their member of it."""
    if is_table(x):
        return "rows", cells(rows_of(x))
    return "x", [plain(row) if hasattr(row, "__iter__") else row for row in plain(x)]


def _outputs(answers: List[Dict[str, Any]]) -> Any:
    return array_of([[number_of(value) for value in row] for answer in answers for row in answer["predictions"]])
