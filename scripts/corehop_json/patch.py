"""`corehop patch --list-unsafe --json`: which functions of a program cannot be hooked."""

from __future__ import annotations

import msgspec


class UnsafeFunction(msgspec.Struct, frozen=True):
    """A function that cannot be hooked."""

    offset: int


class Unsafe(msgspec.Struct, frozen=True):
    """Functions that cannot be hooked, and those that cannot in mode `call`."""

    build_id: str | None
    refusal: str | None
    unsafe: list[UnsafeFunction]
    call_unsafe: list[UnsafeFunction]
