"""Linker symbols as people read them.

C++ names go through libstdc++'s own demangler, which knows what the compiler meant. Rust's stay as
they are, of both schemes: corehop has rustc's own demangler for them. A name that is not understood
is shown as it is: a name is for reading, and the symbol beside it stays exact.

Rejected: the package cxxfilt, which calls the same function. Debian has no package of it, and it
starts two programs to find what is loaded here by name.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache

RUST_HASH = re.compile(r"17h[0-9a-f]{16}E")
"""Rust's legacy scheme is C++'s with a last path element of h and 16 digits."""


def demangle(symbol: str) -> str:
    """Give the readable name, or the symbol itself where there is nothing to demangle."""
    if symbol.startswith("_Z") and not RUST_HASH.search(symbol):
        return demangle_cpp(symbol)
    return symbol


@cache
def libraries() -> tuple[ctypes.CDLL, ctypes.CDLL] | None:
    """Give libstdc++ and libc, where there is a libstdc++."""
    try:
        demangler = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return None
    demangler.__cxa_demangle.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    demangler.__cxa_demangle.restype = ctypes.c_void_p
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    return demangler, libc


def demangle_cpp(symbol: str) -> str:
    """Demangle an Itanium C++ ABI name: __cxa_demangle gives memory to be freed, or nothing."""
    loaded = libraries()
    if loaded is None:
        return symbol
    demangler, libc = loaded
    readable = demangler.__cxa_demangle(symbol.encode(), None, None, None)
    if not readable:
        return symbol
    try:
        return ctypes.string_at(readable).decode(errors="replace")
    finally:
        libc.free(readable)
