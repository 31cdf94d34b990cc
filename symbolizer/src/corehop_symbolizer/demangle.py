"""Linker symbols as people read them.

C++ names go through libstdc++'s own demangler (cxxfilt), which knows what the compiler meant;
Rust's two schemes go through rust_demangler. A name neither understands is shown as it is: a
name is for reading, and the symbol beside it stays exact.
"""

from __future__ import annotations

import re

import cxxfilt
import rust_demangler

RUST_HASH = re.compile(r"17h[0-9a-f]{16}E")
"""Rust's legacy scheme is C++'s with a last path element of h and 16 digits."""

READABLE_HASH = re.compile(r"::h[0-9a-f]{16}$")


def demangle(symbol: str) -> str:
    """Give the readable name, or the symbol itself where there is nothing to demangle."""
    if symbol.startswith("_R") or (symbol.startswith("_ZN") and RUST_HASH.search(symbol)):
        return demangle_rust(symbol)
    if symbol.startswith("_Z"):
        return demangle_cpp(symbol)
    return symbol


def demangle_cpp(symbol: str) -> str:
    """Demangle an Itanium C++ ABI name."""
    try:
        return str(cxxfilt.demangle(symbol))
    except (cxxfilt.Error, UnicodeError):
        return symbol


def demangle_rust(symbol: str) -> str:
    """Demangle a Rust name, without the hash of the legacy scheme."""
    try:
        return READABLE_HASH.sub("", str(rust_demangler.demangle(symbol)))
    except Exception:  # The library signals what it cannot read with whatever it trips over.
        return symbol
