"""A function of a plan, of every kind that there is."""

from __future__ import annotations

from typing import Literal

import msgspec


class PlannedFunction(msgspec.Struct, frozen=True):
    """What moves the thread, and where to: exactly one of `core` and `by` is there."""

    symbol: str
    mode: Literal["enter", "call"]
    core: int | msgspec.UnsetType = msgspec.UNSET
    by: str | msgspec.UnsetType = msgspec.UNSET
    after: int | msgspec.UnsetType = msgspec.UNSET
    call: int | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Refuse what no plan can have."""
        if (self.core is msgspec.UNSET) == (self.by is msgspec.UNSET):
            raise ValueError(f"{self.symbol} has to name either a core or an argument")

    def to(self) -> str:
        """Say where the thread goes."""
        return f"core {self.core}" if self.by is msgspec.UNSET else f"core of {self.by}"

    def described(self, name: str) -> str:
        """Say what moves the thread where, with the function's name as people read it."""
        if self.call is not msgspec.UNSET:
            return f"{self.to()} from call {self.call} of {name}"
        if self.mode == "call":
            return f"{self.to()} for calls of {name}"
        if self.after is not msgspec.UNSET:
            return f"{self.to()} from {name}, after {self.after} calls about it"
        return f"{self.to()} from {name}"
