"""Functions that have a name: the defined ones of .symtab and .dynsym.

A distribution strips .symtab, so .dynsym is usually all there is; a server that takes plug-ins
exports most of its functions there (mariadbd: 21 428 different names).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from elftools.elf.sections import SymbolTableSection

from corehop_symbolizer.image import Image, reading

FUNCTION_TYPES = frozenset({"STT_FUNC", "STT_LOOS"})
"""STT_GNU_IFUNC has the number 10, which pyelftools prints as STT_LOOS."""

BINDING_ORDER = {"STB_GLOBAL": 0, "STB_LOOS": 0, "STB_WEAK": 1, "STB_LOCAL": 2}
"""Names of a wider scope first; STB_GNU_UNIQUE (10, STB_LOOS) is a global name."""

LOCAL = BINDING_ORDER["STB_LOCAL"]


@dataclass(frozen=True)
class Symbol:
    """A name for an address, from one of the two tables."""

    address: int
    size: int
    name: str
    scope: int
    source: str

    def preference(self) -> tuple[int, int, str]:
        """Order the names of one address: widest scope, then shortest, then alphabetical."""
        return (self.scope, len(self.name), self.name)


def read_symbols(image: Image) -> dict[int, list[Symbol]]:
    """Give the symbols of every named function, the preferred one first, by entry address."""
    by_address: dict[int, dict[str, Symbol]] = {}
    for source in ("symtab", "dynsym"):
        with reading(image.path, f".{source}"):
            section = image.elf.get_section_by_name(f".{source}")
            if not isinstance(section, SymbolTableSection):
                continue
            for symbol in defined_functions(section, source):
                if image.is_code(symbol.address):
                    names = by_address.setdefault(symbol.address, {})
                    names.setdefault(symbol.name, symbol)
    return {address: preferred_first(names.values()) for address, names in by_address.items()}


def defined_functions(section: SymbolTableSection, source: str) -> Iterator[Symbol]:
    """Give the named functions that the table defines, in its order."""
    for entry in section.iter_symbols():
        if entry["st_info"]["type"] not in FUNCTION_TYPES or entry["st_shndx"] == "SHN_UNDEF":
            continue
        if entry.name:
            scope = BINDING_ORDER.get(entry["st_info"]["bind"], LOCAL)
            yield Symbol(entry["st_value"], entry["st_size"], entry.name, scope, source)


def preferred_first(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Sort the symbols of one address."""
    return sorted(symbols, key=Symbol.preference)
