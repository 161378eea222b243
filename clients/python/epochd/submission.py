"""What jobs and sweeps share: they are waited for, watched, paused, cancelled, deleted."""
from __future__ import annotations

import http.client
import json
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, TypeVar, Union
from urllib.parse import quote, urlencode

from .display import progress_display
from .errors import EpochdError, JobFailed

ENDED = ("succeeded", "failed", "cancelled")
SILENCE_SECONDS = 40  # the daemon sends a heartbeat every 15
Self = TypeVar("Self", bound="Submission")


class Submission:
    """A job or a sweep as last fetched; `refresh` fetches it again. Fields of the response are attributes too:
    status, progress, timing, spec, …"""

    _root = ""  # the path of the list: "/v1/jobs"
    _words: Callable[[Mapping[str, Any]], List[str]]  # what it is now

    def __init__(self, client: "Client", document: Dict[str, Any]):
        self._client = client
        self.document = document
        self.id: str = document["id"]
        self._path = f"{self._root}/{quote(self.id, safe='')}"

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["document"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self.document]

    def __repr__(self) -> str:
        title = f"{self.name} ({self.id})" if self.name else self.id
        return f"<{type(self).__name__} {title}: {', '.join(type(self)._words(self.document))}>"

    def refresh(self: Self, wait: int = 0) -> Self:
        """Fetches it again; with `wait`, once it has ended, or after that many seconds."""
        self.document = self._client._json("GET", self._path + (f"?wait={wait}" if wait else ""))
        return self

    def wait(self: Self, progress: Union[bool, Callable[[Mapping[str, Any]], None]] = False, check: bool = True) -> Self:
        """Waits for the end. Raises JobFailed unless it succeeded, or `check` is False."""
        if progress:
            show = progress if callable(progress) else progress_display(self)
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
        """The events, from the one after number `after`, to its end. A stream that is cut goes on at its next
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
                raise ConnectionError("the stream ended before its end event")
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

    def cancel(self: Self) -> Self:
        """Cancels it; its weights so far are stored. One that has already ended is unchanged: see `status`."""
        self._client._json("POST", f"{self._path}/cancel", retry=True)
        return self.refresh()

    def pause(self: Self) -> Self:
        """Pauses it: one that runs is `pausing` until its checkpoint is on disk, then `paused`."""
        self.document = self._client._json("POST", f"{self._path}/pause", retry=True)
        return self

    def resume(self: Self) -> Self:
        """Resumes a paused one; it continues from its last checkpoint."""
        self.document = self._client._json("POST", f"{self._path}/resume", retry=True)
        return self

    def update(self: Self, **fields: Any) -> Self:
        """Changes `name`, `tags`, `notes`, `priority`, `pinned` or `visibility`."""
        self.document = self._client._json("PATCH", self._path, dict(fields))
        return self

    def delete(self) -> None:
        """Removes it and its files; it must have ended."""
        self._client._bytes("DELETE", self._path)
