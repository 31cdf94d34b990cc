"""What a patched server writes to COREHOP_STATS."""

from __future__ import annotations

import msgspec


class CountedFunction(msgspec.Struct, frozen=True):
    """A function of the plan."""

    symbol: str
    calls: int


class Statistics(msgspec.Struct, frozen=True):
    """Of one process."""

    hops: int
    functions: list[CountedFunction]
