"""epochd.py: a client for epochd in one file, with Python's standard library alone.

    from epochd import Client

    client = Client("http://127.0.0.1:8080")
    client.upload("houses", "houses.csv")
    job = client.train({"data": {"dataset": "houses", "target": "price"}, ...})
    print(job.metrics["test"], job.predict([[80, 3]]))

Copy it beside your program. Python 3.9 or later; where NumPy is installed, arrays are NumPy's,
else lists. In a notebook a job shows its curve. Apache-2.0.
"""
from __future__ import annotations

import array
import http.client
import json
import math
import os
import shutil
import ssl
import struct
import sys
import time
import uuid
from typing import Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote, urlencode, urlsplit

try:
    import numpy
except ImportError:
    numpy = None

__all__ = ["Client", "Job", "EpochdError", "JobFailed", "read_safetensors"]

ENDED = ("succeeded", "failed", "cancelled")
CHUNK_BYTES = 1 << 20
PREDICT_ROWS = 100_000  # the daemon's limit of one request
PREDICT_BYTES = 4 << 20  # well below the daemon's limit
SILENCE_SECONDS = 40  # the daemon sends a heartbeat every 15
Checkpoint = Union[int, str, None]  # a step, or "latest"
Spec = Union[Mapping[str, Any], str, "os.PathLike[str]"]


class EpochdError(Exception):
    """An error of the daemon: a refusal, or a failure. `errors` names each field at fault by its JSON pointer."""

    def __init__(self, status: int, title: str, detail: str = "", errors: Iterable[Mapping[str, str]] = ()):
        self.status = status
        self.title = title
        self.detail = detail
        self.errors: List[Tuple[str, str]] = [(one["pointer"], one["detail"]) for one in errors]
        faults = [f"{pointer or '/'}: {fault}" for pointer, fault in self.errors] or [detail or title]
        super().__init__(f"{status}: " + "; ".join(faults))


class JobFailed(Exception):
    """A job has ended as `failed` or `cancelled`; `job` is that job."""

    def __init__(self, job: "Job"):
        self.job = job
        super().__init__(f"{job.id} {job.status}" + (f": {_message(job.error)}" if job.error else ""))


class Client:
    """A client of one daemon. `url` is $EPOCHD, or http://127.0.0.1:8080, unless given; `token` is $EPOCHD_TOKEN."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, timeout: float = 120,
                 context: Optional[ssl.SSLContext] = None):
        self.url = (url or os.environ.get("EPOCHD") or "http://127.0.0.1:8080").rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an address of a daemon, as http://127.0.0.1:8080 is one: {self.url!r}")
        self._secure, self._host, self._port, self._prefix = parts.scheme == "https", parts.hostname, parts.port, parts.path
        self._token = token or os.environ.get("EPOCHD_TOKEN")
        self._timeout = timeout
        self._context = context

    def train(self, spec: Spec, progress: Union[bool, Callable[[Mapping[str, Any]], None]] = True) -> "Job":
        """Submits a job and waits for its end. Raises JobFailed unless it succeeds. An interrupt ends the waiting
        alone: the job goes on.

        `progress` draws a bar (in a notebook: a curve), or is called with each event."""
        job = self.submit(spec)
        job.wait(progress=progress)
        return job

    def submit(self, spec: Spec) -> "Job":
        """Queues a job, given as a mapping, as JSON text, or as the path of a JSON file, and comes back at once.
        A cut connection is tried again; the job is queued once."""
        document = self._json("POST", "/v1/jobs", _spec(spec), {"Idempotency-Key": str(uuid.uuid4())}, retry=True)
        return Job(self, document)

    def validate(self, spec: Spec) -> Dict[str, Any]:
        """Checks a job without queueing it: its layers' shapes, parameters, bytes, estimated seconds."""
        return self._json("POST", "/v1/jobs?validate=only", _spec(spec), retry=True)

    def job(self, job_id: str) -> "Job":
        """The job with this id."""
        return Job(self, self._json("GET", f"/v1/jobs/{quote(job_id, safe='')}"))

    def jobs(self, state: Optional[str] = None, tags: Iterable[str] = (), limit: Optional[int] = None) -> List["Job"]:
        """Jobs, newest first: all, or `limit` of them, in one state, with all of these tags."""
        found: List[Job] = []
        after = None
        while limit is None or len(found) < limit:
            query: List[Tuple[str, Any]] = [("limit", min(1000, (limit or 1000) - len(found)) if limit else 1000)]
            query += [("state", state)] if state else []
            query += [("tag", tag) for tag in tags]
            query += [("after", after)] if after else []
            page = self._json("GET", "/v1/jobs?" + urlencode(query))
            found += [Job(self, one) for one in page["data"]]
            after = page["next"]
            if not page["has_more"]:
                break
        return found

    def compare(self, jobs: Iterable[Union["Job", str]], max_points: int = 500) -> Dict[str, Any]:
        """Jobs side by side: their metrics, the settings that differ, their curves."""
        ids = [job.id if isinstance(job, Job) else job for job in jobs]
        return self._json("GET", "/v1/compare?" + urlencode({"jobs": ",".join(ids), "max_points": max_points}, safe=","))

    def upload(self, name: str, source: Any) -> Dict[str, Any]:
        """Uploads a dataset. `source` is a file's path, an open binary file, bytes, or a mapping of arrays.

        Arrays are called x and y, or x_train, y_train, x_test, y_test, x_val, y_val; under the names of a
        model's tensors they are weights for `model.init`. Files are streamed."""
        path = f"/v1/datasets/{quote(name, safe='')}"
        headers = {"Content-Type": "application/octet-stream"}
        if isinstance(source, Mapping):
            header, arrays = _safetensors_header(source)
            headers["Content-Length"] = str(len(header) + sum(len(part) for part in arrays))
            return self._json("PUT", path, _chunks([header, *arrays]), headers)
        if isinstance(source, (bytes, bytearray)):
            return self._json("PUT", path, bytes(source), headers)
        if hasattr(source, "read"):
            return self._json("PUT", path, _read(source), headers)
        with open(source, "rb") as file:
            headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
            return self._json("PUT", path, _read(file), headers)

    def datasets(self) -> List[Dict[str, Any]]:
        """All datasets."""
        return self._json("GET", "/v1/datasets")["data"]

    def devices(self) -> List[Dict[str, Any]]:
        """The devices, each with its state and its job."""
        return self._json("GET", "/v1/devices")["data"]

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)

    def _open(self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None,
              timeout: Optional[float] = None) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends a request; the caller closes the connection. A status of 400 or more is raised as EpochdError."""
        sent = dict(headers or {})
        if isinstance(body, (Mapping, list)):
            body = json.dumps(body, default=_plain).encode()
            sent["Content-Type"] = "application/json"
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        connection = self._connect(timeout or self._timeout)
        try:
            try:
                connection.request(method, self._prefix + path, body, sent,
                                   encode_chunked=body is not None and "Content-Length" not in sent)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the daemon may have refused before it received everything
            response = connection.getresponse()
            if response.status >= 400:
                raise _problem(response.status, response.reason, response.read())
            return connection, response
        except BaseException:
            connection.close()
            raise

    def _bytes(self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None,
               retry: bool = False) -> bytes:
        for pause in (0.2, 1, 3, None) if retry or method == "GET" else (None,):
            try:
                connection, response = self._open(method, path, body, headers)
                try:
                    return response.read()
                finally:
                    connection.close()
            except (OSError, http.client.HTTPException):
                if pause is None:
                    raise
                time.sleep(pause)
        raise AssertionError("not reached")

    def _json(self, *arguments: Any, **options: Any) -> Any:
        return json.loads(self._bytes(*arguments, **options) or b"null")


class Job:
    """A job as last fetched; `refresh` fetches it again. Fields of the response are attributes too:
    job.status, job.metrics, job.timing, job.spec, …"""

    def __init__(self, client: Client, document: Dict[str, Any]):
        self._client = client
        self.document = document
        self.id: str = document["id"]
        self._path = f"/v1/jobs/{quote(self.id, safe='')}"

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["document"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.status}>"

    def refresh(self, wait: int = 0) -> "Job":
        """Fetches the job again; with `wait`, once it has ended, or after that many seconds."""
        self.document = self._client._json("GET", self._path + (f"?wait={wait}" if wait else ""))
        return self

    def wait(self, progress: Union[bool, Callable[[Mapping[str, Any]], None]] = False, check: bool = True) -> "Job":
        """Waits for the job's end. Raises JobFailed unless it succeeded, or `check` is False."""
        if progress:
            show = progress if callable(progress) else _progress(self)
            for event in self.events():
                show(event)
        while self.document["status"] not in ENDED:
            self.refresh(wait=int(min(30, self._client._timeout / 2)))
        if progress and not callable(progress):
            show.close()
        if check and self.document["status"] != "succeeded":
            raise JobFailed(self)
        return self

    def events(self, after: int = 0, follow: bool = True, every: Optional[int] = None,
               patience: float = 60) -> Iterator[Dict[str, Any]]:
        """The job's events, from the one after number `after`, to its end. A stream that is cut goes on at its next
        event; after `patience` seconds without the daemon, the error is raised."""
        silent_since = None
        while True:
            query: Dict[str, Any] = {"after": after, "follow": int(follow)}
            if every:
                query["every"] = every
            try:
                for event in self._stream("?" + urlencode(query)):
                    after, silent_since = event["seq"], None
                    yield event
                    if event["type"] == "end":
                        return
                if not follow:
                    return
                raise ConnectionError("the stream ended before the job")
            except (OSError, http.client.HTTPException, EpochdError) as error:
                if isinstance(error, EpochdError) and error.status != 503:
                    raise
                now = time.monotonic()
                silent_since = now if silent_since is None else silent_since
                if now - silent_since > patience:
                    raise
                time.sleep(min(2.0, 0.1 + (now - silent_since) / 4))

    def _stream(self, query: str) -> Iterator[Dict[str, Any]]:
        connection, response = self._client._open("GET", self._path + "/events" + query,
                                                  headers={"Accept": "application/x-ndjson"}, timeout=SILENCE_SECONDS)
        try:
            for line in response:
                if not line.endswith(b"\n"):
                    return  # it was cut within a line
                if line.strip():
                    yield json.loads(line)
        finally:
            connection.close()

    def curve(self, max_points: Optional[int] = None) -> Dict[str, Any]:
        """The history: `epoch`, `loss`, `error`, `validation_loss`, … as arrays; None where there is none."""
        curve = self._client._json("GET", f"{self._path}/curve" + (f"?max_points={max_points}" if max_points else ""))
        return {name: _vector(values) for name, values in curve.items() if name not in ("object", "job", "points")}

    def checkpoints(self) -> List[Dict[str, Any]]:
        """The job's checkpoints, newest first: `step`, `epoch`, `loss`, `created_at`, …"""
        return self._client._json("GET", f"{self._path}/checkpoints")["data"]

    def weights(self, checkpoint: Checkpoint = None) -> Dict[str, Any]:
        """The weights under PyTorch's names, `0.weight` [out, in] and so on: those of the job's end, or of a
        checkpoint, a step of `checkpoints` or "latest", also while the job trains."""
        return read_safetensors(self._client._bytes("GET", self._weights_path(checkpoint)))

    def save(self, path: Union[str, "os.PathLike[str]"], format: str = "safetensors", checkpoint: Checkpoint = None) -> None:
        """Writes the weights into a file: safetensors, npz, json or onnx; of a checkpoint, safetensors. Its old
        content stays until the download is whole."""
        query = "" if format == "safetensors" else f"?format={quote(format)}"
        content = self._client._bytes("GET", self._weights_path(checkpoint) + query)
        with open(path, "wb") as file:
            file.write(content)

    def predictions(self) -> Dict[str, Any]:
        """The targets of the test rows, and the network's predictions."""
        return self._client._json("GET", f"{self._path}/predictions")

    def predict(self, x: Any, checkpoint: Checkpoint = None) -> Any:
        """The network's outputs for rows: an array [rows, outputs]. Many rows are sent in pieces. With a
        checkpoint, a step of `checkpoints` or "latest", also while the job trains."""
        path = f"{self._path}/predict" + ("?" + urlencode({"checkpoint": checkpoint}) if checkpoint is not None else "")
        rows = x.tolist() if hasattr(x, "tolist") else [row.tolist() if hasattr(row, "tolist") else row for row in x]
        outputs: List[Any] = []
        piece = PREDICT_ROWS
        if rows:
            piece = max(1, min(piece, PREDICT_BYTES // (len(json.dumps(rows[0])) * 2 + 64)))
        for first in range(0, len(rows), piece):
            body = {"x": rows[first:first + piece]}
            outputs += self._client._json("POST", path, body, retry=True)["predictions"]
        outputs = [[_number(value) for value in row] for row in outputs]
        return numpy.array(outputs) if numpy is not None else outputs

    def cancel(self) -> "Job":
        """Cancels the job; its weights so far are stored."""
        self._client._json("POST", f"{self._path}/cancel", retry=True)
        return self.refresh()

    def pause(self) -> "Job":
        """Pauses the job: a running one is `pausing` until its checkpoint is on disk, then `paused`."""
        self.document = self._client._json("POST", f"{self._path}/pause", retry=True)
        return self

    def resume(self) -> "Job":
        """Queues a paused job again; it goes on from its last checkpoint."""
        self.document = self._client._json("POST", f"{self._path}/resume", retry=True)
        return self

    def update(self, **fields: Any) -> "Job":
        """Changes `name`, `tags`, `priority` or `pinned`."""
        self.document = self._client._json("PATCH", self._path, dict(fields))
        return self

    def delete(self) -> None:
        """Removes the job and its files; it must have ended."""
        self._client._bytes("DELETE", self._path)

    def _weights_path(self, checkpoint: Checkpoint) -> str:
        return self._path + ("" if checkpoint is None else f"/checkpoints/{quote(str(checkpoint), safe='')}") + "/weights"

    def _repr_html_(self) -> str:
        curve = self._client._json("GET", f"{self._path}/curve?max_points=400")
        return _html(self.document, curve)


def read_safetensors(content: bytes) -> Dict[str, Any]:
    """The tensors of a safetensors file: NumPy's arrays, or nested lists. Raises ValueError for any other file."""
    try:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8:8 + length])
    except (struct.error, ValueError):
        raise ValueError("not a safetensors file") from None
    tensors = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        first, last = tensor["data_offsets"]
        code, bits = _CODES.get(tensor["dtype"], (None, 0))
        count = math.prod(tensor["shape"])
        if code is None or not 0 <= first <= last <= len(content) - 8 - length or last - first != count * bits // 8:
            raise ValueError(f"safetensors: {name} is not as its header says")
        values = array.array(code)
        values.frombytes(content[8 + length + first:8 + length + last])
        if sys.byteorder == "big":
            values.byteswap()
        if numpy is not None:
            tensors[name] = numpy.array(values, dtype=values.typecode).reshape(tensor["shape"])
        else:
            tensors[name] = _nest(values.tolist(), tensor["shape"])
    return tensors


# safetensors' types: the code of Python's arrays, and bits
_CODES = {"F32": ("f", 32), "F64": ("d", 64), "I8": ("b", 8), "U8": ("B", 8), "I16": ("h", 16), "U16": ("H", 16),
          "I32": ("i", 32), "U32": ("I", 32), "I64": ("q", 64), "U64": ("Q", 64), "BOOL": ("B", 8)}


def _nest(values: List[Any], shape: List[int]) -> Any:
    """A flat list as nested ones."""
    if not shape:
        return values[0]
    for size in reversed(shape[1:]):
        values = [values[at:at + size] for at in range(0, len(values), size)]
    return values


def _flat(value: Any) -> Tuple[List[int], str, bytes]:
    """(shape, safetensors' type, bytes) of an array: NumPy's, Python's, or nested lists of numbers."""
    if numpy is not None:
        whole = numpy.ascontiguousarray(value)
        if whole.ndim == 0 or whole.dtype.kind not in "fiub" or whole.dtype.itemsize > 8:
            raise ValueError("an array of numbers is needed")
        name = "BOOL" if whole.dtype.kind == "b" else f"{whole.dtype.kind.upper()}{whole.dtype.itemsize * 8}"
        return list(numpy.shape(value)), name, whole.astype(whole.dtype.newbyteorder("<")).tobytes()
    shape: List[int] = []
    flat: List[Any] = [value]
    while flat and isinstance(flat[0], (list, tuple, array.array)):
        if any(not hasattr(part, "__len__") or len(part) != len(flat[0]) for part in flat):
            raise ValueError("the rows of an array must have one length")
        shape.append(len(flat[0]))
        flat = [number for part in flat for number in part]
    if not shape:
        raise ValueError("an array of numbers is needed")
    whole = all(isinstance(number, int) for number in flat)
    values = array.array("q" if whole else "d", flat)
    if sys.byteorder == "big":
        values.byteswap()
    return shape, "I64" if whole else "F64", values.tobytes()


def _safetensors_header(arrays: Mapping[str, Any]) -> Tuple[bytes, List[bytes]]:
    """The head of a safetensors file, and the arrays' bytes that follow it."""
    header, contents, at = {}, [], 0
    for name, value in arrays.items():
        shape, kind, content = _flat(value)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(content)]}
        contents.append(content)
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, contents


def _chunks(parts: Iterable[bytes]) -> Iterator[bytes]:
    for part in parts:
        view = memoryview(part)
        for at in range(0, len(view), CHUNK_BYTES):
            yield bytes(view[at:at + CHUNK_BYTES])


def _read(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _spec(spec: Spec) -> Mapping[str, Any]:
    """A job as a mapping: given as one, as JSON text, or as the path of a JSON file."""
    if isinstance(spec, Mapping):
        return spec
    if isinstance(spec, str) and spec.lstrip().startswith("{"):
        return json.loads(spec)
    with open(spec, encoding="utf-8") as file:
        return json.load(file)


def _plain(value: Any) -> Any:
    """For json.dumps: NumPy's numbers and arrays."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


def _problem(status: int, reason: str, body: bytes) -> EpochdError:
    try:
        problem = json.loads(body)
        return EpochdError(status, problem.get("title", reason), problem.get("detail", ""), problem.get("errors", ()))
    except (ValueError, AttributeError, KeyError, TypeError):
        return EpochdError(status, reason, body[:200].decode("utf-8", "replace"))


def _number(value: Any) -> Any:
    """JSON has no NaN: the daemon writes "NaN", "Infinity", "-Infinity"."""
    return float(value) if isinstance(value, str) else value


def _vector(values: Optional[List[Any]]) -> Any:
    if values is None:
        return None
    numbers = [_number(value) for value in values]
    if numpy is None:
        return numbers
    return numpy.array([math.nan if value is None else value for value in numbers])


def _short(seconds: Optional[float]) -> str:
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"


def _readable(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, (int, float)) else str(value)


class _Terminal:
    """Progress on stderr: a bar that is drawn over on a terminal, else a line for each tenth."""

    def __init__(self) -> None:
        self._tty = sys.stderr.isatty()
        self._drawn, self._tenth, self._last = 0.0, -1, ""

    def __call__(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "epoch":
            self._epoch(event)
        elif event["type"] in ("paused", "resumed"):
            self._line(f"{event['type']}: at epoch {event['epoch']} of {event['epochs']}")
        elif event["type"] in ("restarted", "warning", "end"):
            said = [event.get("status"), event.get("message"), _message(event.get("error"))]
            self._line(f"{event['type']}: {': '.join(word for word in said if word)}")

    def _epoch(self, event: Mapping[str, Any]) -> None:
        share, now = event["epoch"] / event["epochs"], time.monotonic()
        text = f"{event['epoch']}/{event['epochs']} loss {_readable(event['loss'])}"
        if event.get("error") is not None:
            text += f" error {_readable(event['error'])}"
        if not self._tty:
            if int(share * 10) > self._tenth:
                self._tenth = int(share * 10)
                print(text, file=sys.stderr)
            return
        text += f" eta {_short(event['eta_seconds'])}"
        width = max(0, min(40, (shutil.get_terminal_size().columns or 80) - len(text) - 4))
        self._last = f"[{'#' * int(share * width):<{width}}] {text}"
        if share >= 1 or now - self._drawn > 0.1:
            self._drawn = now
            print(f"\r{self._last}\x1b[K", end="", file=sys.stderr, flush=True)

    def _line(self, text: str) -> None:
        if self._tty and self._last:
            print(f"\r{self._last}\x1b[K", file=sys.stderr)
            self._last = ""
        print(text, file=sys.stderr)

    def close(self) -> None:
        sys.stderr.flush()


class _Notebook:
    """Progress in a notebook: one display that is redrawn at most twice a second."""

    def __init__(self, job: Job, display: Callable[..., Any]):
        self._job, self._drawn = job, time.monotonic()
        self._handle = display(job, display_id=True)

    def __call__(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "epoch" and time.monotonic() - self._drawn > 0.5:
            self._drawn = time.monotonic()
            self._handle.update(self._job.refresh())

    def close(self) -> None:
        self._handle.update(self._job)


def _progress(job: Job) -> Any:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        from IPython.display import display  # IPython is imported already in a notebook
        return _Notebook(job, display)
    return _Terminal()


def _message(error: Any) -> str:
    """The error of a job, in words."""
    return error.get("message", str(error)) if isinstance(error, Mapping) else error or ""


def _escape(text: Any) -> str:
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _html(job: Mapping[str, Any], curve: Mapping[str, Any]) -> str:
    """A job for a notebook: a line of words, a bar, the curve."""
    progress = job["progress"]
    words = [job["name"] or job["id"], job["status"], f"{progress['epoch']}/{progress['epochs']} epochs"]
    seconds = job["timing"]["train_seconds"]
    words += [_short(seconds)] if seconds is not None else []
    test = (job["metrics"] or {}).get("test") or {}
    words += [f"test {name} {_readable(value)}" for name, value in test.items() if isinstance(value, (int, float))][:4]
    words += [_message(job["error"])] if job["error"] else []
    return (f"<div><div>{' · '.join(_escape(word) for word in words)}</div>"
            f"<progress max=\"1\" value=\"{progress['fraction']:.4f}\" style=\"width:400px\"></progress>"
            f"{_svg(curve)}</div>")


def _svg(curve: Mapping[str, Any], width: int = 400, height: int = 160) -> str:
    """Training loss (solid) and validation loss (dashed) over the epochs; a logarithmic axis where it can be."""
    lines = [[(epoch, _number(value)) for epoch, value in zip(curve["epoch"], curve[name] or ()) if value is not None]
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
            f"fill=\"currentColor\">loss {_readable(min(values))} to {_readable(max(values))}, epochs {first} to {last}</text></svg>")
