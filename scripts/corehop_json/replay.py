"""`corehop replay --json`: what a replay counts."""

from __future__ import annotations

import msgspec


class Replayed(msgspec.Struct, frozen=True):
    """The result."""

    hops: int
