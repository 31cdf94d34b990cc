"""`corehop replay --system-calls --json`: what asynchronous system calls change."""

from __future__ import annotations

import msgspec

from corehop_json.counters import Counters


class BothModes(msgspec.Struct, frozen=True):
    """User code and the kernel."""

    user: Counters
    kernel: Counters


class Way(msgspec.Struct, frozen=True):
    """A way to make system calls; `batch` is null if each is made separately."""

    system_calls: str
    batch: int | None
    all: BothModes


class ReplayedSystemCalls(msgspec.Struct, frozen=True):
    """The result."""

    in_place: BothModes
    posted: list[Way]
