"""The counts of simulated caches."""

from __future__ import annotations

import msgspec


class Level(msgspec.Struct, frozen=True):
    """One level of cache, in lines."""

    accesses: int
    misses: int
    fetch_misses: int
    data_misses: int


class Counters(msgspec.Struct, frozen=True):
    """All levels, summed over all cores."""

    l1i: Level
    l1d: Level
    l2: Level
    l3: Level
    cycles: int
