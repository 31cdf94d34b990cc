"""Functions with names: the defined ones of .symtab and .dynsym.

Distributions strip .symtab, so without a debug file, usually only .dynsym exists. A server with
plug-ins exports most of its functions there (mariadbd: 21 428 distinct names). For each table, the
numbers of the relevant entries are kept, in the order of their addresses; symbols are created
lazily.
System V gABI, chapter 4, "Symbol Table".
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from elftools.elf.sections import SymbolTableSection

from corehop_symbolizer.image import Image, contents, reading

ENTRY = struct.Struct("<IBBHQQ")
"""Elf64_Sym: place of the name, type and binding, visibility, section, address, size."""

FUNCTION_TYPES = frozenset({2, 10})
"""STT_FUNC and STT_GNU_IFUNC."""

UNDEFINED = 0

GLOBAL, WEAK, LOCAL = range(3)
"""The scopes, wider ones first."""

SCOPES = {1: GLOBAL, 10: GLOBAL, 2: WEAK}
"""By binding; STB_GNU_UNIQUE (10) is a global name."""


class Symbol(NamedTuple):
    """A name for an address, from one of the two tables."""

    address: int
    size: int
    name: str
    scope: int
    source: str

    def preference(self) -> tuple[int, int, str]:
        """Order the names of one address: widest scope, then shortest, then alphabetical."""
        return (self.scope, len(self.name), self.name)


ADDRESS = attrgetter("address")


@dataclass(frozen=True)
class Table:
    """A symbol table and which of its entries are functions."""

    source: str
    entries: bytes
    names: bytes
    functions: list[int]
    """Numbers of entries, in the order of their addresses."""

    def symbol(self, number: int) -> Symbol:
        """Read an entry."""
        name, info, _, _, address, size = ENTRY.unpack_from(self.entries, number * ENTRY.size)
        text = self.names[name : self.names.index(b"\0", name)].decode(errors="replace")
        return Symbol(address, size, text, SCOPES.get(info >> 4, LOCAL), self.source)


def read_symbols(image: Image, debug: Image | None) -> Iterator[tuple[int, list[Symbol]]]:
    """Yield the address of each named function, in order, with its symbols, the preferred first.

    A debug file contains the whole .symtab, but only the header of .dynsym.
    """
    tables = [read_table(debug or image, image, "symtab"), read_table(image, image, "dynsym")]
    streams = [map(table.symbol, table.functions) for table in tables if table]
    by_address = groupby(heapq.merge(*streams, key=ADDRESS), key=ADDRESS)
    return ((address, preferred_first(symbols)) for address, symbols in by_address)


def read_table(file: Image, image: Image, source: str) -> Table | None:
    """Read a table, if the file has it, and find the named functions that it defines.

    The program determines which addresses are code: a debug file may lack its program headers.
    """
    with reading(file.path, f".{source}"):
        section = file.elf.get_section_by_name(f".{source}")
        if not isinstance(section, SymbolTableSection):
            return None
        if section["sh_entsize"] != ENTRY.size:
            raise ValueError(f"an entry has {section['sh_entsize']} bytes and not {ENTRY.size}")
        entries, names = contents(section), contents(section.stringtable)
        if names and names[-1] != 0:
            raise ValueError("its last name has no end")
        found: list[tuple[int, int]] = []
        for number, symbol in enumerate(ENTRY.iter_unpack(entries)):
            name, info, _, defined_in, address, _ = symbol
            if info & 0xF not in FUNCTION_TYPES or defined_in == UNDEFINED:
                continue
            if name >= len(names):
                raise ValueError(
                    f"the name of entry {number} begins at byte {name} of {len(names)}"
                )
            if names[name] != 0 and image.is_code(address):
                found.append((address, number))
        found.sort()
        return Table(source, entries, names, [number for _, number in found])


def preferred_first(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Sort the symbols of one address; for equal names, the first table has priority."""
    names: dict[str, Symbol] = {}
    for symbol in symbols:
        names.setdefault(symbol.name, symbol)
    return sorted(names.values(), key=Symbol.preference)
