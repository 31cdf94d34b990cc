"""`corehop optimize --json`: what makes a server faster, or why nothing does."""

from __future__ import annotations

import msgspec

from corehop_json.plan import PlannedFunction


class Speedup(msgspec.Struct, frozen=True):
    """Throughput as a multiple of the original's, over several placements of pages."""

    low: float
    median: float
    high: float


class Predicted(msgspec.Struct, frozen=True):
    """The prediction of a replay for a plan."""

    l2_misses_ratio: float
    hops_per_request: float
    speedup: Speedup | None


class Group(msgspec.Struct, frozen=True):
    """Some of the rounds."""

    runs: int
    ratio: float


class Tried(msgspec.Struct, frozen=True):
    """A plan, or asynchronous system calls."""

    cores: int | None
    functions: list[PlannedFunction] | None
    predicted: Predicted | None
    system_calls: str | None


class Optimized(msgspec.Struct, frozen=True):
    """The result."""

    gain: bool
    ratio: float | None
    interval: tuple[float, float] | None
    confidence: float
    why_not: str | None
    command: str | None
    groups: list[Group] | None
    best: int | None
    tried: list[Tried]

    def pays(self) -> Tried | None:
        """Return what makes the server faster, if anything does."""
        return None if not self.gain or self.best is None else self.tried[self.best]
