"""Direct reading of tables, compared with pyelftools' own reading, and its memory use."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import naive
import pytest
from test_servers import FILES

from corehop_symbolizer.command import main

Functions = Callable[[str | Path], list[dict[str, Any]]]
Compiled = Callable[..., Path]

FIRST_ROWS = [
    "",
    ".cfi_def_cfa_offset 16",
    ".cfi_def_cfa 6, 16; .cfi_def_cfa 7, 8",
    ".cfi_def_cfa_register 6",
    ".cfi_def_cfa_register 6; .cfi_def_cfa_register 7",
    ".cfi_escape 0x0f, 2, 0x77, 8",
    ".cfi_escape 0x12, 7, 0x78",
    ".cfi_escape 0x13, 0x78; .cfi_def_cfa 7, 8",
    ".cfi_offset 6, -16; .cfi_offset 130, -24; .cfi_restore 6; .cfi_restore 130",
    ".cfi_undefined 3; .cfi_same_value 12; .cfi_register 3, 200",
    ".cfi_escape 0x10, 3, 2, 0x77, 8; .cfi_escape 0x16, 3, 2, 0x0e, 8",
    ".cfi_escape 0x11, 0x83, 1, 2; .cfi_val_offset 3, 16; .cfi_escape 0x15, 3, 2",
    ".cfi_remember_state; .cfi_restore_state; .cfi_escape 0x2e, 0x80, 1",
    ".cfi_escape 0x01, 1, 2, 3, 4, 5, 6, 7, 8; .cfi_def_cfa_offset 16",
    ".cfi_escape 0x02, 1; .cfi_def_cfa_offset 16",
    ".cfi_escape 0x03, 1, 0; .cfi_def_cfa_offset 16",
    ".cfi_escape 0x04, 1, 0, 0, 0; .cfi_def_cfa_offset 16",
    ".cfi_escape 0, 0, 0; .cfi_def_cfa_offset 16",
    ".cfi_signal_frame",
    ".cfi_personality 0x1b, here; .cfi_lsda 0x1b, here",
    ".cfi_personality 0, here; .cfi_lsda 0, here; .cfi_def_cfa_offset 32",
]
"""Directives before a function's first instruction, each kind of instruction somewhere."""


def source_of(count: int, piece: Callable[[int], str]) -> str:
    """Return a program of `count` pieces of assembly."""
    lines = "\n".join(piece(number) for number in range(count))
    return f'__asm__("here:\\n{lines.replace(chr(10), chr(92) + "n")}");'


def without_names(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: told for key, told in f.items() if key != "name"} for f in found]


@pytest.mark.parametrize("path", FILES)
def test_real_files_read_as_pyelftools_reads_them(path: str, functions: Functions) -> None:
    assert without_names(functions(path)) == naive.functions(path)


@pytest.mark.parametrize("simple", ["", " simple"])
def test_every_frame_instruction_is_understood(
    simple: str, compiled: Compiled, functions: Functions
) -> None:
    def piece(number: int) -> str:
        ending = "nop; .cfi_def_cfa_offset 64; ret; .cfi_endproc"
        return f"f{number}: .cfi_startproc{simple}; {FIRST_ROWS[number]}; {ending}"

    source = source_of(len(FIRST_ROWS), piece)
    found = functions(library := compiled(source, "-nostdlib", "-Wl,-z,notext"))
    assert without_names(found) == naive.functions(library)
    assert len(found) == (1 if simple else 14)


def test_one_name_in_both_tables_counts_once(compiled: Compiled, functions: Functions) -> None:
    library = compiled(
        'int one(void) { return 1; } int two(void) __attribute__((alias("one"), weak));'
        'static int three(void) __attribute__((alias("one"), used));'
    )
    assert without_names(functions(library)) == naive.functions(library)


def test_what_a_function_costs_in_memory_is_little_more_than_its_line(
    compiled: Compiled, tmp_path: Path
) -> None:
    count = 20_000

    def piece(number: int) -> str:
        name = f"a_name_of_some_length_{number}"
        named = f".globl {name}; .type {name}, @function; {name}:"
        return f"{named} .cfi_startproc; ret; .cfi_endproc"

    library = compiled(source_of(count, piece))
    output = tmp_path / "out.json"
    tracemalloc.start()
    try:
        assert main(["--no-cache", str(library), "-o", str(output)]) == 0
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    printed = output.stat().st_size
    assert printed / count > 100
    assert most < 500 * count
