"""Linker symbols as people read them.

C++ names go through libstdc++'s own demangler (cxxfilt), which knows what the compiler meant.
Rust's stay as they are, of both schemes: corehop has rustc's own demangler for them. A name that is
not understood is shown as it is: a name is for reading, and the symbol beside it stays exact.

Debian does not package cxxfilt. Where corehop was installed as a package, libstdc++ is called
without it.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from functools import cache
from types import ModuleType

RUST_HASH = re.compile(r"17h[0-9a-f]{16}E")
"""Rust's legacy scheme is C++'s with a last path element of h and 16 digits."""


def library(name: str) -> ModuleType | None:
    """Give the library where it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


CXXFILT = library("cxxfilt")


def demangle(symbol: str) -> str:
    """Give the readable name, or the symbol itself where there is nothing to demangle."""
    if symbol.startswith("_Z") and not RUST_HASH.search(symbol):
        return demangle_cpp(symbol)
    return symbol


def demangle_cpp(symbol: str) -> str:
    """Demangle an Itanium C++ ABI name."""
    if CXXFILT is None:
        return demangle_by_libstdcxx(symbol)
    try:
        return str(CXXFILT.demangle(symbol))
    except (CXXFILT.Error, UnicodeError):
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


def demangle_by_libstdcxx(symbol: str) -> str:
    """Call __cxa_demangle, which gives memory to be freed, or nothing."""
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
