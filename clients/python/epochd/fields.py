"""JSON objects whose members are attributes, so that a shell completes them."""
from __future__ import annotations

from typing import Any, Dict, List


class Fields(Dict[str, Any]):
    """A JSON object: job.metrics.test.r2 is job.metrics["test"]["r2"]. A member with the name of a method of dict, such
    as `values` or `items`, is taken in brackets."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name!r} in {', '.join(self) or 'an empty object'}") from None

    def __dir__(self) -> List[str]:
        return list(self)
