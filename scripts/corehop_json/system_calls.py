"""Asynchronous system calls, in the form of `corehop run --system-calls`: CALLS@WHERE."""

from __future__ import annotations


def described(text: str) -> str:
    """Describe which calls are made where."""
    calls, _, where = text.rpartition("@")
    place, _, core = where.partition(":")
    if place == "batch":
        kernel = f", by a kernel thread on core {core}" if core else ""
        return f"system calls {calls} batched by io_uring{kernel}"
    if place == "yield":
        return f"system calls {calls} after other threads of the core"
    return f"system calls {calls} on core {where}"
