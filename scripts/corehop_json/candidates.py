"""`corehop candidates --json`: the functions that a plan may name."""

from __future__ import annotations

import msgspec


class Candidate(msgspec.Struct, frozen=True):
    """A function."""

    symbol: str
    module: str
    offset: int
    unpatchable: str | None


class Candidates(msgspec.Struct, frozen=True):
    """All candidates."""

    candidates: list[Candidate]
