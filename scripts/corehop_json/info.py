"""`corehop info --json`: what a trace is of."""

from __future__ import annotations

import msgspec


class Module(msgspec.Struct, frozen=True):
    """A file whose code was recorded."""

    path: str
    build_id: str


class Info(msgspec.Struct, frozen=True):
    """The trace."""

    modules: list[Module]
