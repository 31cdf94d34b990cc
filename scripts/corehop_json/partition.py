"""`corehop partition --json`: the best split that was found."""

from __future__ import annotations

import msgspec

from corehop_json.counters import Counters
from corehop_json.plan import PlannedFunction


class Comparison(msgspec.Struct, frozen=True):
    """The counts of some requests on one core and with the split."""

    requests: int
    baseline: Counters
    split: Counters


class Partitioned(msgspec.Struct, frozen=True):
    """The result."""

    searched: Comparison
    held_out: Comparison | None
    plan: list[PlannedFunction]

    def judged(self) -> Comparison:
        """Return the comparison for the verdict: on held-out requests, if there are any."""
        return self.held_out or self.searched
