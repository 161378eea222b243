"""What goes wrong."""
from __future__ import annotations

import json
from typing import Any, Iterable, List, Mapping, Tuple

from .dialect import worded


class EpochdError(Exception):
    """An error of the daemon: a refusal, or a failure. `errors` names each field at fault by its JSON pointer."""

    def __init__(self, status: int, title: str, detail: str = "", errors: Iterable[Mapping[str, str]] = ()):
        self.status = status
        self.title = title
        self.detail = detail
        self.errors: List[Tuple[str, str]] = [(one["pointer"], one["detail"]) for one in errors]
        faults = [f"{pointer}: {fault}" if pointer else fault for pointer, fault in self.errors]
        if not faults or all(detail != fault for _, fault in self.errors):  # else it is the first of them
            faults.insert(0, detail or title)
        super().__init__(f"{status}: " + worded("; ".join(faults)))


class JobFailed(Exception):
    """A job or a sweep has ended as `failed` or `cancelled`; `job` is it."""

    def __init__(self, job: Any):
        self.job = job
        super().__init__(f"{job.id} {job.status}" + (f": {message_of(job.error)}" if job.error else ""))


def message_of(error: Any) -> str:
    """The error of a job or a sweep, in words."""
    return error.get("message", str(error)) if isinstance(error, Mapping) else error or ""


def problem_read(status: int, reason: str, body: bytes) -> EpochdError:
    """The error that a response tells."""
    try:
        problem = json.loads(body)
        return EpochdError(status, problem.get("title", reason), problem.get("detail", ""), problem.get("errors", ()))
    except (ValueError, AttributeError, KeyError, TypeError):
        return EpochdError(status, reason, body[:200].decode("utf-8", "replace"))
