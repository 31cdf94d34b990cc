"""`corehop replay --json`: the counts of a replay."""

from __future__ import annotations

from typing import Literal

import msgspec

from corehop_json.counters import Counters


class Baseline(msgspec.Struct, frozen=True):
    """The same without the plan."""

    counters: Counters


class Code(msgspec.Struct, frozen=True):
    """A function, or other code."""

    module: str | None
    counters: Counters


class Spread(msgspec.Struct, frozen=True):
    """Of the requests."""

    median: int
    largest: int


class WorkingSet(msgspec.Struct, frozen=True):
    """The memory that requests accessed."""

    size_bytes: Spread


class Visit(msgspec.Struct, frozen=True):
    """Visits of the kernel of one kind."""

    reason: Literal["system-call", "interrupt", "exception", "idle", "other"]
    name: str
    lines: int


class Modes(msgspec.Struct, frozen=True):
    """User code and the kernel."""

    visits: list[Visit]


class Replayed(msgspec.Struct, frozen=True):
    """The result of one machine; optional keys depend on options and trace."""

    hops: int
    counters: Counters
    baseline: Baseline | msgspec.UnsetType = msgspec.UNSET
    functions: list[Code] | msgspec.UnsetType = msgspec.UNSET
    working_set: WorkingSet | msgspec.UnsetType = msgspec.UNSET
    modes: Modes | msgspec.UnsetType = msgspec.UNSET
