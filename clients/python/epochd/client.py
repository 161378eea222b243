"""The client of one daemon: its requests, its jobs and sweeps, its data."""
from __future__ import annotations

import http.client
import json
import os
import ssl
import time
import uuid
import warnings
from typing import Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Type, Union
from urllib.parse import quote, urlencode, urlsplit

from .arrays import safetensors_header
from .dialect import dialect_query
from .errors import problem_read
from .fields import Fields
from .job import Job
from .sweep import Sweep, axis_of
from .submission import Submission
from .tables import WRITTEN, is_table, rows_of, tsv

CHUNK_BYTES = 1 << 20
Spec = Union[Mapping[str, Any], str, "os.PathLike[str]"]


class Client:
    """A client of one daemon. `url` is $EPOCHD, or http://127.0.0.1:8080, unless given; `token` is $EPOCHD_TOKEN.

    Of an https URL: `ca_file` ($EPOCHD_CA, or the system's) has the certificates, PEM, that the daemon's is signed by;
    `context` takes its place, with whatever else is needed: a client's certificate."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, timeout: float = 120,
                 context: Optional[ssl.SSLContext] = None, ca_file: Optional[str] = None):
        self.url = (url or os.environ.get("EPOCHD") or "http://127.0.0.1:8080").rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not a valid server URL (such as http://127.0.0.1:8080): {self.url!r}")
        self._secure, self._host, self._port, self._prefix = parts.scheme == "https", parts.hostname, parts.port, parts.path
        self._token = token or os.environ.get("EPOCHD_TOKEN")
        self._timeout = timeout
        ca_file = ca_file or os.environ.get("EPOCHD_CA")
        self._context = context
        if self._secure and not context:
            self._context = ssl.create_default_context(cafile=ca_file)

    def __deepcopy__(self, memo: Any) -> Client:
        return self

    def __reduce__(self) -> Any:
        """A pickle has only the address: token and certificates are those of the environment where it is loaded."""
        return type(self), (self.url, None, self._timeout)

    def __repr__(self) -> str:
        return f"<Client of {self.url}>"

    def train(self, source: Any, progress: Union[bool, Callable[[Mapping[str, Any]], None]] = True, *,
              target: Optional[str] = None, task: Optional[str] = None, replace: bool = False, window: Optional[int] = None,
              horizon: Optional[int] = None, group: Optional[str] = None, time: Optional[str] = None, **fields: Any) -> Job:
        """Submits a job, as `submit` does, and waits for its end. Raises JobFailed unless it succeeds. An interrupt ends
        the waiting alone: the job goes on.

        `progress` draws a bar (in a notebook: a curve), or is called with each event."""
        return self.submit(source, target=target, task=task, replace=replace, window=window, horizon=horizon, group=group,
                           time=time, **fields).wait(progress=progress)

    def submit(self, source: Any, *, target: Optional[str] = None, task: Optional[str] = None, replace: bool = False,
               window: Optional[int] = None, horizon: Optional[int] = None, group: Optional[str] = None,
               time: Optional[str] = None, **fields: Any) -> Job:
        """Queues a job, and comes back at once. A cut connection is tried again; the job is queued once.

        `source` is a job: a mapping, JSON text, or the path of a JSON file. Or it is a table: the path of any other
        file, a DataFrame, or a list of dicts. That is uploaded, as `upload` does with `replace`, and gets a first network
        ("model": "auto"); `target` is the column to predict, the last one unless given. `task` is "regression" or "classification", where "auto"
        would choose the other. Of a series, an example is `window` successive rows in the order of the column `time`,
        and the target of the row `horizon` rows later; `group` is the column that tells several series apart.
        `fields` are further fields of the job: name="flats", epochs=50."""
        body = dict(self._auto(source, fields.get("name"), replace) if _is_table(source, target) else _spec(source))
        series = {name: value for name, value in (("length", window), ("horizon", horizon), ("group", group)) if value is not None}
        data = {**body.get("data", {}), **fields.get("data", {})}
        chosen = {"target": target, "task": task, "time": time, "window": {**(data.get("window") or {}), **series} if series else None}
        fields["data"] = {**data, **{name: value for name, value in chosen.items() if value is not None}}
        return self._queue(Job, {**body, **fields})

    def _auto(self, source: Any, name: Optional[str], replace: bool) -> Dict[str, Any]:
        """Uploads a table, which is called as its job or as its file is, as far as a dataset may be; the job of a first
        network for it."""
        file = name or ("table" if is_table(source) else os.path.basename(source))
        stored = self._upload("POST", "", source, file=file, replace=replace)
        return {"data": {"dataset": stored.name}, "model": "auto"}

    def find_lr(self, spec: Spec) -> Job:
        """Finds a learning rate for a job: trains it for at most 181 steps while the rate grows, and waits for the
        end. `found` of the job has `proposal`, the rate to train with or None, `steepest`, `least`, and the lists `lr`,
        `loss`, `smoothed`; `plot("lr", format="svg")` draws them."""
        document = self._json("POST", "/v1/jobs?find=lr", _spec(spec), {"Idempotency-Key": str(uuid.uuid4())}, retry=True)
        return Job(self, document).wait()

    def validate(self, spec: Spec) -> Dict[str, Any]:
        """Checks a job without queueing it: its layers' shapes, parameters, bytes, estimated seconds. Of a whole
        sweep, a mapping with `job` and `space`: its trials and trainings."""
        body = _spec(spec)
        return self._json("POST", ("/v1/sweeps" if "space" in body else "/v1/jobs") + "?validate=only", body, retry=True)

    def job(self, job_id: str) -> Job:
        """The job with this id, or the newest of this name; "last" is the newest of all."""
        return Job(self, self._json("GET", f"/v1/jobs/{quote(job_id, safe='')}"))

    def predict(self, name: str, x: Any, **options: Any) -> Any:
        """Predictions of a published model, or of a job, by its name or id; as Job.predict."""
        return Job(self, {"id": name}).predict(x, **options)

    def jobs(self, state: Optional[str] = None, tags: Iterable[str] = (), limit: Optional[int] = None) -> List[Job]:
        """Jobs, newest first: all, or `limit` of them, in one state, with all of these tags."""
        return self._list(Job, state, tags, limit)

    def sweep(self, job: Spec, space: Mapping[str, Any], *, search: Optional[str] = None, metric: Optional[str] = None,
              mode: Optional[str] = None, max_trials: Optional[int] = None, max_seconds: Optional[float] = None,
              repeats: Optional[int] = None, folds: Optional[int] = None, workers: Optional[int] = None,
              **more: Any) -> Sweep:
        """Queues a sweep, many trainings of one job, and comes back at once.

        `space` maps JSON pointers into the job to what is tried there: a list of values, or {"log_uniform": [low,
        high]}, as the daemon takes it. `workers` GPUs, or workers of a partition, train it at once: as many as no other
        job waits for unless given. `more` are further fields of the request: name, tags, zip, seed, …"""
        fields = {"search": search, "metric": metric, "mode": mode, "max_trials": max_trials, "max_seconds": max_seconds,
                  "repeats": repeats, "folds": folds, "workers": workers, **more}
        body = {"job": _spec(job), "space": {pointer: axis_of(values) for pointer, values in space.items()},
                **{name: value for name, value in fields.items() if value is not None}}
        return self._queue(Sweep, body)

    def get_sweep(self, sweep_id: str) -> Sweep:
        """The sweep with this id, or the newest of this name; "last" is the newest of all."""
        return Sweep(self, self._json("GET", f"/v1/sweeps/{quote(sweep_id, safe='')}"))

    def sweeps(self, state: Optional[str] = None, tags: Iterable[str] = (), limit: Optional[int] = None) -> List[Sweep]:
        """Sweeps, newest first, chosen as `jobs` chooses; without their `spec`, which `refresh` fetches."""
        return self._list(Sweep, state, tags, limit)

    def _queue(self, kind: Type[Submission], body: Spec) -> Any:
        queued = kind(self, self._json("POST", kind._root, body, {"Idempotency-Key": str(uuid.uuid4())}, retry=True))
        for line in queued.document.get("warnings", []):
            warnings.warn(line, stacklevel=3)
        return queued

    def _list(self, kind: Type[Submission], state: Optional[str], tags: Iterable[str], limit: Optional[int]) -> List[Any]:
        found: List[Any] = []
        after = None
        while limit is None or len(found) < limit:
            query: List[Tuple[str, Any]] = [("limit", min(1000, (limit or 1000) - len(found)) if limit else 1000)]
            query += [("state", state)] if state else []
            query += [("tag", tag) for tag in tags]
            query += [("after", after)] if after else []
            page = self._json("GET", kind._root + "?" + urlencode(query))
            found += [kind(self, one) for one in page["data"]]
            after = page["next"]
            if not page["has_more"]:
                break
        return found

    def compare(self, jobs: Iterable[Union[Job, str]], max_points: int = 500, format: str = "json", spreadsheet: bool = False) -> Any:
        """Jobs, or their ids or names, side by side: their metrics, the settings that differ, their curves; with
        format="csv" a text without the curves. `spreadsheet`: as in `Job.predictions`."""
        ids = [job.id if isinstance(job, Job) else job for job in jobs]
        query = urlencode({"jobs": ",".join(ids), "max_points": max_points}, safe=",")
        return self._document("GET", f"/v1/compare?{query}", format, spreadsheet)

    def upload(self, name: str, source: Any, visibility: Optional[str] = None, replace: bool = False,
               **options: Any) -> Fields:
        """Uploads a dataset. `source` is a file's path, an open binary file, bytes, a DataFrame, a list of dicts, or a
        mapping of arrays.

        Arrays are called x and y, or x_train, y_train, x_test, y_test, x_val, y_val; under the names of a
        model's tensors they are weights for `model.init`. Files are streamed.
        A name that has other content keeps it, unless `replace` says otherwise: this one is stored as NAME-2, as the
        answer's `name` and a warning say.
        visibility: "private", for its owner and admins alone, or "public"; the daemon's default unless given.
        `options` are those of the query: size="64x64", channels=1, broken="skip" of pictures, table="name" of JSON; and the
        keys of the way a CSV is written that are not to be detected: encoding="windows-1252", delimiter=";", quote="none", header=True, row_names=False, preamble=2, comment="#", decimal=",", thousands=".",
        missing=["-", "unknown"], dates="day_first". Detected format is `dialect` of the answer, with its evidence, and
        `notes`."""
        return self._upload("PUT", f"/{quote(name, safe='')}", source, replace=replace, **({"visibility": visibility} if visibility else {}),
                            **options)

    def _upload(self, method: str, path: str, source: Any, **options: Any) -> Fields:
        more = {key: str(options.pop(key)) for key in ("size", "channels", "broken", "table", "visibility", "file") if key in options}
        more["replace"] = str(options.pop("replace")).lower()
        if is_table(source):
            if any(getattr(getattr(source, "index", None), "names", ())):  # an index with a name is a column
                source = source.reset_index()
            source, options = tsv(rows_of(source)), {**WRITTEN, **options}
        stored = self._send(method, f"/v1/datasets{path}?{urlencode({**more, **dialect_query(options)})}", source)
        if more["replace"] == "false":  # else the answer's `warnings` tell how many jobs read what was replaced
            for line in stored.warnings:
                warnings.warn(line + ("; replace=True replaces the other" if stored.beside else ""), stacklevel=3)
        return stored

    def _send(self, method: str, path: str, source: Any) -> Fields:
        headers = {"Content-Type": "application/octet-stream"}
        if isinstance(source, Mapping):
            header, arrays = safetensors_header(source)
            headers["Content-Length"] = str(len(header) + sum(len(part) for part in arrays))
            return self._json(method, path, _chunks([header, *arrays]), headers)
        if isinstance(source, (bytes, bytearray)):
            return self._json(method, path, bytes(source), headers)
        if hasattr(source, "read"):
            return self._json(method, path, _read(source), headers)
        with open(source, "rb") as file:
            headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
            return self._json(method, path, _read(file), headers)

    def dataset(self, name: str) -> Dict[str, Any]:
        """A dataset: its parts and `columns`; of a CSV `dialect`, how it was read, with the evidence, and `notes`."""
        return self._json("GET", f"/v1/datasets/{quote(name, safe='')}")

    def datasets(self) -> List[Dict[str, Any]]:
        """All datasets, without their columns."""
        found: List[Dict[str, Any]] = []
        query: Dict[str, Any] = {"limit": 1000}
        while True:
            page = self._json("GET", "/v1/datasets?" + urlencode(query))
            found += page["data"]
            if not page["has_more"]:
                return found
            query["after"] = page["next"]

    def update_dataset(self, name: str, visibility: str) -> Dict[str, Any]:
        """Changes the visibility of a dataset: "private" or "public"."""
        return self._json("PATCH", f"/v1/datasets/{quote(name, safe='')}", {"visibility": visibility})

    def publish(self, name: str, job: Union[Job, str], threshold: Any = None, visibility: Optional[str] = None) -> Dict[str, Any]:
        """Publishes a job, or that of this id or name, as a model, which `predict` and KServe V2 requests find by its
        name. A model with that name moves to the job. For two classes `threshold` decides as in Job.decide; visibility:
        "private", for its owner and admins alone, or "public"; as the job unless given."""
        body = {"job": job.id if isinstance(job, Job) else job, "threshold": threshold, "visibility": visibility}
        return self._json("PUT", f"/v1/models/{quote(name, safe='')}", {key: value for key, value in body.items() if value is not None})

    def update_model(self, name: str, visibility: str) -> Dict[str, Any]:
        """Changes the visibility of a published model: "private" or "public"."""
        return self._json("PATCH", f"/v1/models/{quote(name, safe='')}", {"visibility": visibility})

    def dataset_rows(self, name: str, limit: int = 20, offset: int = 0, split: str = "train") -> List[Any]:
        """Rows of a dataset, each a dict by the columns' names: as `predict` takes them. Rows without names are lists."""
        query = urlencode({"split": split, "limit": limit, "offset": offset})
        return self._json("GET", f"/v1/datasets/{quote(name, safe='')}/rows?{query}")["data"]

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
            except ConnectionRefusedError as refusal:
                raise ConnectionRefusedError(refusal.errno, f"cannot connect to {self.url}: is epochd running?") from None
            except (BrokenPipeError, ConnectionResetError):
                pass  # the daemon may have refused before it received everything
            response = connection.getresponse()
            if response.status >= 400:
                raise problem_read(response.status, response.reason, response.read())
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

    def _document(self, method: str, path: str, format: str, spreadsheet: bool, *arguments: Any, **options: Any) -> Any:
        """A response as JSON, or as the text of a CSV."""
        if format == "json":
            return self._json(method, path, *arguments, **options)
        query = urlencode({"format": format, **({"spreadsheet": 1} if spreadsheet else {})})
        return self._bytes(method, f"{path}{'&' if '?' in path else '?'}{query}", *arguments, **options).decode()

    def _json(self, *arguments: Any, **options: Any) -> Any:
        return json.loads(self._bytes(*arguments, **options) or b"null", object_hook=Fields)


def _chunks(parts: Iterable[bytes]) -> Iterator[bytes]:
    for part in parts:
        view = memoryview(part)
        for at in range(0, len(view), CHUNK_BYTES):
            yield bytes(view[at:at + CHUNK_BYTES])


def _read(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _is_table(source: Any, target: Optional[str]) -> bool:
    """Whether it is a table, or the path of one, and not a job."""
    if isinstance(source, Mapping) or (isinstance(source, str) and source.lstrip().startswith("{")):
        return False
    return target is not None or is_table(source) or not os.fspath(source).endswith(".json")


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
    raise TypeError(f"{type(value).__name__} is not JSON serializable")
