"""C++ names, and Rust names, which corehop demangles."""

from __future__ import annotations

import pytest

from corehop_symbolizer.demangle import demangle


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("main", "main"),
        ("_ZN3foo3barEi", "foo::bar(int)"),
        ("_ZN3fooC2Ev", "foo::foo()"),
        ("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size() const"),
        ("_ZN4core3fmt17h0123456789abcdefE", "_ZN4core3fmt17h0123456789abcdefE"),
        ("_RNvC6_123foo3bar", "_RNvC6_123foo3bar"),
        ("_Z", "_Z"),
        ("_Zgarbage", "_Zgarbage"),
    ],
)
def test_a_symbol_reads_as_its_source_did(symbol: str, name: str) -> None:
    assert demangle(symbol) == name
