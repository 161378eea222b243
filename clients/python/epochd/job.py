"""A job: its curve, its weights, its predictions."""
from __future__ import annotations

import json
import os
import warnings
from typing import Any, Dict, List, Optional, Union
from urllib.parse import quote, urlencode

from .arrays import number_of, numpy, read_safetensors, vector
from .dialect import dialect_query
from .display import job_html, layers_svg
from .submission import Submission

PREDICT_ROWS = 100_000  # the daemon's limit of one request
PREDICT_BYTES = 4 << 20  # well below the daemon's limit
Checkpoint = Union[int, str, None]  # a step, or "latest"


def warned(answer: Dict[str, Any]) -> Dict[str, Any]:
    """The answer; what it warns of, such as words that the model does not know, goes to Python's warnings."""
    lines = [f"{each['pointer']}: {each['detail']}" for each in answer.get("warnings", [])]
    if lines and "warnings_left_out" in answer:
        lines.append(f"and {answer['warnings_left_out']} more")
    if lines:
        warnings.warn("\n".join(lines), stacklevel=3)
    return answer


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

    def curve(self, max_points: Optional[int] = None) -> Dict[str, Any]:
        """The history: `epoch`, `loss`, `error`, `validation_loss`, … as arrays; None where there is none."""
        curve = self._client._json("GET", f"{self._path}/curve" + (f"?max_points={max_points}" if max_points else ""))
        return {name: vector(values) for name, values in curve.items() if name not in ("object", "job", "points")}

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

    def predictions(self) -> Dict[str, Any]:
        """The targets of the test rows, and the network's predictions."""
        return self._client._json("GET", f"{self._path}/predictions")

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
        query = "" if checkpoint is None else "?" + urlencode({"checkpoint": checkpoint})
        rows = x.tolist() if hasattr(x, "tolist") else [row.tolist() if hasattr(row, "tolist") else row for row in x]
        body = {"rows": rows} if rows and isinstance(rows[0], dict) else {"x": rows}
        return warned(self._client._json("POST", f"{self._path}/predict{query}", {**body, "threshold": threshold}, retry=True))

    def predict(self, x: Any, checkpoint: Checkpoint = None, steps: Optional[int] = None, future: Any = None) -> Any:
        """The network's outputs for rows: an array [rows, outputs]. Many rows are sent in pieces. With a
        checkpoint, a step of `checkpoints` or "latest", also while the job trains. Of a job with windows, `steps`
        forecasts so many rows after x, a DataFrame or dicts of the last rows of a series; `future` has the rows
        after them where other columns than the target are features."""
        path = f"{self._path}/predict" + ("?" + urlencode({"checkpoint": checkpoint}) if checkpoint is not None else "")
        if future is not None and steps is None:
            raise ValueError("future is of a forecast: give steps, the number of its rows")
        if steps is not None:
            from .estimators import _cell, _rows  # which need this module
            body = {"rows": x, **({} if future is None else {"future": future})}
            body = {key: [{name: _cell(cell) for name, cell in row.items()} for row in _rows(rows)] for key, rows in body.items()}
            answer = warned(self._client._json("POST", path, {**body, "steps": int(steps)}, retry=True))["predictions"]
            outputs = [[number_of(value) for value in row] for row in answer]
            return numpy.array(outputs) if numpy is not None else outputs
        rows = x.tolist() if hasattr(x, "tolist") else [row.tolist() if hasattr(row, "tolist") else row for row in x]
        outputs = []
        piece = PREDICT_ROWS
        if rows:
            piece = max(1, min(piece, PREDICT_BYTES // (len(json.dumps(rows[0])) * 2 + 64)))
        for first in range(0, len(rows), piece):
            body = {"x": rows[first:first + piece]}
            outputs += self._client._json("POST", path, body, retry=True)["predictions"]
        outputs = [[number_of(value) for value in row] for row in outputs]
        return numpy.array(outputs) if numpy is not None else outputs

    def predict_csv(self, source: Any, checkpoint: Checkpoint = None, **dialect: Any) -> Dict[str, Any]:
        """The daemon's whole answer for a CSV with the names of the columns: `predictions`, of a classifier `classes`
        and `probabilities`. `source` is a file's path, an open binary file, or bytes. It is read as the file was that
        the job learnt from, but for the keys of `dialect`: those of `Client.upload`."""
        if hasattr(source, "read"):
            text = source.read()
        elif isinstance(source, (bytes, bytearray)):
            text = bytes(source)
        else:
            with open(source, "rb") as file:
                text = file.read()
        query = {**({} if checkpoint is None else {"checkpoint": checkpoint}), **dialect_query(dialect)}
        path = f"{self._path}/predict" + (f"?{urlencode(query)}" if query else "")
        return self._client._json("POST", path, text, {"Content-Type": "text/csv"}, retry=True)

    def _weights_path(self, checkpoint: Checkpoint) -> str:
        return self._path + ("" if checkpoint is None else f"/checkpoints/{quote(str(checkpoint), safe='')}") + "/weights"

    def _repr_html_(self) -> str:
        curve = self._client._json("GET", f"{self._path}/curve?max_points=400")
        return job_html(self.document, curve)
