"""`corehop info --json`: the content of a trace."""

from __future__ import annotations

import msgspec


class Module(msgspec.Struct, frozen=True):
    """A file whose code was recorded."""

    path: str
    build_id: str


class Info(msgspec.Struct, frozen=True):
    """The trace."""

    modules: list[Module]
