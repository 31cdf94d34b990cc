"""Demangles linker symbols.

C++ names are demangled by libstdc++'s own demangler, which matches the compiler. Rust names of both
schemes stay unchanged: corehop has rustc's own demangler for them. A name that cannot be demangled
is shown unchanged: names are for readers, and the exact symbol is stored separately.

Rejected: the package cxxfilt, which calls the same function. Debian has no package of it, and it
starts two programs to find the libraries that are loaded here by name.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache

RUST_HASH = re.compile(r"17h[0-9a-f]{16}E")
"""Rust's legacy scheme is C++'s with a last path element of h and 16 digits."""


def demangle(symbol: str) -> str:
    """Return the demangled name, or the symbol itself if it is not mangled."""
    if symbol.startswith("_Z") and not RUST_HASH.search(symbol):
        return demangle_cpp(symbol)
    return symbol


@cache
def libraries() -> tuple[ctypes.CDLL, ctypes.CDLL] | None:
    """Return libstdc++ and libc, or None without a libstdc++."""
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
    """Demangle an Itanium C++ ABI name; the memory from __cxa_demangle must be freed."""
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
