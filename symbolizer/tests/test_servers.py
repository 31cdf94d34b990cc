"""Real servers and libraries, compared with GNU binutils on the same files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import binutils
import pytest

FILES = [
    "/usr/bin/memcached",
    "/usr/bin/redis-server",
    "/usr/sbin/mariadbd",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
]

Functions = Callable[[str | Path], list[dict[str, Any]]]


@pytest.mark.parametrize("path", FILES)
def test_the_functions_are_those_binutils_find(path: str, functions: Functions) -> None:
    named = binutils.dynamic_functions(path)
    frames = binutils.frames(path)
    stubs = binutils.linkage_stubs(path)
    entries = {
        address
        for address, (size, is_entry) in frames.items()
        if is_entry and size > 0 and not any(address in stub for stub in stubs)
    }

    found = functions(path)

    assert [function["offset"] for function in found] == sorted(named.keys() | entries)
    for function in found:
        address = function["offset"]
        names = {function["symbol"], *function["aliases"]}
        assert names == named.get(address, {f"fn_{address:x}"})
        assert function["source"] == ("dynsym" if address in named else "eh_frame")
        if address not in named:
            assert function["size"] == frames[address][0]


def test_a_server_without_names_keeps_its_boundaries(functions: Functions) -> None:
    # Debian 13's memcached exports its functions.
    found = functions("/usr/sbin/dnsmasq")
    assert {function["source"] for function in found} == {"eh_frame"}
    assert all(function["name"] == f"fn_{function['offset']:x}" for function in found)
    assert all(function["size"] > 0 for function in found)


def test_the_request_function_of_mariadbd_has_a_readable_name(functions: Functions) -> None:
    found = [f for f in functions("/usr/sbin/mariadbd") if f["name"].startswith("dispatch_command")]
    assert [(f["symbol"], f["source"]) for f in found] == [
        ("_Z16dispatch_command19enum_server_commandP3THDPcjb", "dynsym")
    ]


@pytest.mark.parametrize("path", ["/usr/sbin/mariadbd", FILES[3]])
def test_names_read_as_binutils_print_them(path: str, functions: Functions) -> None:
    found = [f for f in functions(path) if f["symbol"].startswith("_Z")][::50]
    assert len(found) > 50
    printed = subprocess.run(
        ["c++filt", "--no-verbose"],
        input="\n".join(f["symbol"] for f in found),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [f["name"] for f in found] == printed
