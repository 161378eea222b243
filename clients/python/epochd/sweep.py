"""A sweep: its trials, the best of them, and what they become."""
from __future__ import annotations

from typing import Any, Dict, Iterator, Mapping, Optional
from urllib.parse import urlencode

from .arrays import number_of
from .display import Table, sweep_html, sweep_words
from .job import Job
from .submission import Submission

PAGE_TRIALS = 1000


class Sweep(Submission):
    """A sweep as last fetched; `refresh` fetches it again. Fields of the response are attributes too:
    sweep.status, sweep.progress, sweep.metric, sweep.spec, …; sweep.best is the best trial so far, or None."""

    _root = "/v1/sweeps"
    _words = staticmethod(sweep_words)

    def trials(self, sort: str = "metric", limit: Optional[int] = None, offset: int = 0) -> Iterator[Dict[str, Any]]:
        """The trials, best first, or by their number with sort="trial": all behind the first `offset`, or `limit`
        of them. Page by page, as they are taken."""
        end = None if limit is None else offset + limit
        while offset is not None and (end is None or offset < end):
            count = PAGE_TRIALS if end is None else min(PAGE_TRIALS, end - offset)
            query = urlencode({"sort": sort, "limit": count, "offset": offset})
            page = self._client._json("GET", f"{self._path}/trials?{query}")
            yield from page["data"]
            offset = page["next"] if page["has_more"] else None

    def trial(self, number: int) -> Dict[str, Any]:
        """A trial, with `job`: the job of its values."""
        return self._client._json("GET", f"{self._path}/trials/{int(number)}")

    def table(self, sort: str = "metric", limit: Optional[int] = None, offset: int = 0) -> Table:
        """The trials as a list of flat rows, a key for each pointer of the space: print it, or give it to
        pandas.DataFrame."""
        return Table(_row(trial) for trial in self.trials(sort, limit, offset))

    def csv(self, sort: str = "metric", spreadsheet: bool = False) -> str:
        """All trials as the text of a CSV. `spreadsheet`: as in `Job.predictions`."""
        return self._client._document("GET", f"{self._path}/trials?{urlencode({'sort': sort})}", "csv", spreadsheet)

    def promote(self, number: Optional[int] = None) -> Job:
        """Makes a job of a trial, the best one unless a number is given. It trains on all training rows, without
        folds. Told again: the same job."""
        return Job(self._client, self._client._json("POST", f"{self._trial_path(number)}/promote", retry=True))

    def weights(self, number: Optional[int] = None) -> Dict[str, Any]:
        """The weights of a trial, the best one unless a number is given. They are trained now: a sweep keeps
        none."""
        return self.promote(number).wait().weights()

    def _trial_path(self, number: Optional[int]) -> str:
        if number is None:
            if self.best is None:
                raise ValueError(f"{self.id} has no best trial yet: refresh or wait, or give a number")
            number = self.best["trial"]
        return f"{self._path}/trials/{int(number)}"

    def _repr_html_(self) -> str:
        return sweep_html(self.document, self.table(limit=10))


def _row(trial: Mapping[str, Any]) -> Dict[str, Any]:
    """A trial as a flat row."""
    row = {key: trial[key] for key in ("rank", "trial", "metric", "deviation")}
    row.update(trial["values"])
    row.update({key: trial[key] for key in ("outcome", "epochs", "train_loss", "validation_loss", "test_loss", "train_seconds")})
    for key in ("metric", "deviation", "train_loss", "validation_loss", "test_loss"):
        row[key] = number_of(row[key])
    return row


def axis_of(values: Any) -> Any:
    """An axis of a space: {"log_uniform": [low, high]} and such as they are; a list or an array of values alone."""
    if isinstance(values, Mapping):
        return values
    return {"values": values.tolist() if hasattr(values, "tolist") else list(values)}
