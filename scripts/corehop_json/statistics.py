"""What a patched server writes to COREHOP_STATS (runtime/decisions/statistics.c)."""

from __future__ import annotations

import msgspec


class CountedFunction(msgspec.Struct, frozen=True):
    """A function of the plan."""

    symbol: str
    offset: int
    calls: int


class CountedSystemCall(msgspec.Struct, frozen=True):
    """A system call selected to be asynchronous."""

    posted: int


class CountedSystemCalls(msgspec.Struct, frozen=True):
    """All such system calls."""

    calls: list[CountedSystemCall]


class Statistics(msgspec.Struct, frozen=True):
    """The statistics of one process."""

    backend: str
    hops: int
    failed_hops: int
    functions: list[CountedFunction]
    system_calls: CountedSystemCalls | msgspec.UnsetType = msgspec.UNSET
    carriers_refuse: str | msgspec.UnsetType = msgspec.UNSET
    """The reason, if they do."""

    def posted(self) -> int:
        """Return the number of asynchronous system calls."""
        if self.system_calls is msgspec.UNSET:
            return 0
        return sum(call.posted for call in self.system_calls.calls)
