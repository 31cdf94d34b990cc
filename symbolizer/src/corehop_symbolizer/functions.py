"""The union of named functions and described ones, one record per entry address.

A name has priority over a description, which may cover several names or a part of one. The
description adds the size if the symbol has none. A function without a name gets one from its
address, which is the same in every run on the same build.
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
    """One function in the output."""

    offset: int
    size: int
    symbol: str
    name: str
    aliases: list[str]
    source: str


def read_functions(image: Image, debug: Image | None) -> Iterator[Function]:
    """Yield every function of the file, sorted by its entry's virtual address.

    Stripped names come from its debug file, if there is one.

    Damage is detected before the first function is yielded.
    """
    return union(read_symbols(image, debug), read_frames(image))


def union(named: Iterable[tuple[int, list[Symbol]]], frames: Frames) -> Iterator[Function]:
    """Merge names and descriptions."""
    described: Iterable[tuple[int, list[Symbol]]] = ((start, []) for start in sorted(frames.sizes))
    last = None
    # For the same address, the merge yields the named one first.
    for address, symbols in heapq.merge(named, described, key=itemgetter(0)):
        if address == last:
            continue
        last = address
        is_fragment = address in frames.fragments
        if not symbols:
            if not is_fragment:
                yield from_frame(address, frames.sizes[address])
        elif not (is_fragment and symbols[0].scope == LOCAL):
            # A cold part has a local name (`main.cold`). A function visible to other files is
            # called from there, whatever its description contains.
            yield from_symbols(symbols, frames.sizes.get(address, 0))


def from_symbols(symbols: list[Symbol], described_size: int) -> Function:
    """Return the record of a function with one or more names, the preferred one first."""
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
    """Return the record of a function known only by its frame description."""
    name = f"fn_{address:x}"
    return Function(
        offset=address,
        size=size,
        symbol=name,
        name=name,
        aliases=[],
        source="eh_frame",
    )
