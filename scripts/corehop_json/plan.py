"""A function of a plan, of any kind."""

from __future__ import annotations

from typing import Literal

import msgspec


class PlannedFunction(msgspec.Struct, frozen=True):
    """Where the thread migrates, and when.

    A core belongs to the function, to one of its calls (`core` with `call`), or to an argument's
    object (`by`, optionally with `after`). In each case the thread stays there, or mode `call`
    delegates the call.
    """

    symbol: str
    mode: Literal["enter", "call"]
    core: int | msgspec.UnsetType = msgspec.UNSET
    by: str | msgspec.UnsetType = msgspec.UNSET
    after: int | msgspec.UnsetType = msgspec.UNSET
    call: int | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Reject combinations that no plan can have."""
        if (self.core is msgspec.UNSET) == (self.by is msgspec.UNSET):
            raise ValueError(f"{self.symbol} has to name either a core or an argument")
        if self.after is not msgspec.UNSET and self.by is msgspec.UNSET:
            raise ValueError(f"{self.symbol} has `after` without `by`")
        if self.call is not msgspec.UNSET and self.core is msgspec.UNSET:
            raise ValueError(f"{self.symbol} has `call` without `core`")

    def described(self, name: str) -> str:
        """Describe where the thread migrates, with the function's demangled name."""
        core = f"core {self.core}" if self.by is msgspec.UNSET else f"core of {self.by}"
        if self.mode == "call":
            one = "calls" if self.call is msgspec.UNSET else f"call {self.call}"
            text = f"{one} of {name} on {core}"
        elif self.call is not msgspec.UNSET:
            text = f"{core} from call {self.call} of {name}"
        else:
            text = f"{core} from {name}"
        if self.after is msgspec.UNSET:
            return text
        return f"{text}, after {self.after} {'call' if self.after == 1 else 'calls'} about it"
