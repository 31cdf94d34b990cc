"""The union of named functions and described ones, one record per entry address.

A name wins over a description, which may cover several names or a part of one; the description
adds the size where the symbol has none. What has no name gets one made from its address, so that
it means the same in every run on the same build.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TypedDict

from corehop_symbolizer.demangle import demangle
from corehop_symbolizer.frames import Frames, read_frames
from corehop_symbolizer.image import Image
from corehop_symbolizer.symbols import LOCAL, Symbol, read_symbols


class Function(TypedDict):
    """One function as it is printed."""

    offset: int
    size: int
    symbol: str
    name: str
    aliases: list[str]
    source: str


def read_functions(image: Image, debug: Image | None) -> Iterator[Function]:
    """Give every function of the file, sorted by its entry's virtual address.

    Names that were stripped from it come from its debug file, if it has one.

    What is damaged is found before the first one is given.
    """
    return union(read_symbols(image, debug), read_frames(image))


def union(named: Iterable[tuple[int, list[Symbol]]], frames: Frames) -> Iterator[Function]:
    """Go through names and descriptions side by side."""
    described: Iterable[tuple[int, list[Symbol]]] = ((start, []) for start in sorted(frames.sizes))
    last = None
    # Of two with one address, the merge gives the named one first.
    for address, symbols in heapq.merge(named, described, key=itemgetter(0)):
        if address == last:
            continue
        last = address
        is_fragment = address in frames.fragments
        if not symbols:
            if not is_fragment:
                yield from_frame(address, frames.sizes[address])
        elif not (is_fragment and symbols[0].scope == LOCAL):
            # A cold part has a local name (`main.cold`). One that other files can see is called
            # from there, whatever its description says.
            yield from_symbols(symbols, frames.sizes.get(address, 0))


def from_symbols(symbols: list[Symbol], described_size: int) -> Function:
    """Make the record of a function with one name or several, the preferred one first."""
    first, *others = symbols
    size = first.size or max((symbol.size for symbol in others), default=0)
    return Function(
        offset=first.address,
        size=size or described_size,
        symbol=first.name,
        name=demangle(first.name),
        aliases=[symbol.name for symbol in others],
        source=first.source,
    )


def from_frame(address: int, size: int) -> Function:
    """Make the record of a function known by its frame description only."""
    name = f"fn_{address:x}"
    return Function(
        offset=address,
        size=size,
        symbol=name,
        name=name,
        aliases=[],
        source="eh_frame",
    )
