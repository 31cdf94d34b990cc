"""Names of C++, and Rust's, which are left to corehop."""

from __future__ import annotations

from typing import Any

import pytest

from corehop_symbolizer import demangle as libraries
from corehop_symbolizer.demangle import demangle


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("_ZN3foo3barEi", "foo::bar(int)"),
        ("_ZN3fooC2Ev", "foo::foo()"),
        ("_ZN4core3fmt17h0123456789abcdefE", "_ZN4core3fmt17h0123456789abcdefE"),
        ("_RNvC6_123foo3bar", "_RNvC6_123foo3bar"),
        ("_Z", "_Z"),
        ("_Zgarbage", "_Zgarbage"),
    ],
)
def test_a_symbol_reads_as_its_source_did(symbol: str, name: str) -> None:
    assert demangle(symbol) == name


def test_without_a_library_cpp_reads_the_same(monkeypatch: Any) -> None:
    symbols = ["main", "_ZN3foo3barEi", "_ZNKSt6vectorIiSaIiEE4sizeEv", "_Zgarbage"]
    names = [demangle(symbol) for symbol in symbols]
    assert names[1] == "foo::bar(int)"
    monkeypatch.setattr(libraries, "CXXFILT", None)
    assert [demangle(symbol) for symbol in symbols] == names
