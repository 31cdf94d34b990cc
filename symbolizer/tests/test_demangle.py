"""Names of both languages; the Rust examples are from RFC 2603 and rustc's own documentation."""

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
        ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
        (
            "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h89abcdef01234567E",
            "core::ptr::drop_in_place<alloc::string::String>",
        ),
        ("_RNvC6_123foo3bar", "123foo::bar"),
        ("_Z", "_Z"),
        ("_Zgarbage", "_Zgarbage"),
        ("_RNvgarbage", "_RNvgarbage"),
        ("_R", "_R"),
    ],
)
def test_a_symbol_reads_as_its_source_did(symbol: str, name: str) -> None:
    assert demangle(symbol) == name


def test_without_libraries_cpp_reads_the_same_and_rust_stays(monkeypatch: Any) -> None:
    symbols = ["main", "_ZN3foo3barEi", "_ZNKSt6vectorIiSaIiEE4sizeEv", "_Zgarbage"]
    names = [demangle(symbol) for symbol in symbols]
    assert names[1] == "foo::bar(int)"
    for name in ("CXXFILT", "RUST_DEMANGLER"):
        monkeypatch.setattr(libraries, name, None)
    assert [demangle(symbol) for symbol in symbols] == names
    assert demangle("_RNvC6_123foo3bar") == "_RNvC6_123foo3bar"
