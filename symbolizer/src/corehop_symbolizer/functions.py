"""The union of named functions and described ones, one record per entry address.

A name wins over a description, which may cover several names or a part of one; the description
adds the size where the symbol has none. What has no name gets one made from its address, so that
it means the same in every run on the same build.
"""

from __future__ import annotations

from typing import TypedDict

from corehop_symbolizer.demangle import demangle
from corehop_symbolizer.frames import Frame, read_frames
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


def read_functions(image: Image) -> list[Function]:
    """Give every function of the file, sorted by its entry's virtual address."""
    named = read_symbols(image)
    frames = read_frames(image)
    functions = []
    for address in sorted(named.keys() | frames.keys()):
        frame = frames.get(address)
        if symbols := named.get(address):
            if not is_named_fragment(symbols, frame):
                functions.append(from_symbols(symbols, frame))
        elif frame and frame.is_entry:
            functions.append(from_frame(frame))
    return functions


def is_named_fragment(symbols: list[Symbol], frame: Frame | None) -> bool:
    """Tell a cold part with a local name (`main.cold`) from a function.

    A name that other files can see is called from there, whatever its frame description says.
    """
    return frame is not None and not frame.is_entry and symbols[0].scope == LOCAL


def from_symbols(symbols: list[Symbol], frame: Frame | None) -> Function:
    """Make the record of a function with one name or several, the preferred one first."""
    first, *others = symbols
    size = first.size or max((symbol.size for symbol in others), default=0)
    return Function(
        offset=first.address,
        size=size or (frame.size if frame else 0),
        symbol=first.name,
        name=demangle(first.name),
        aliases=[symbol.name for symbol in others],
        source=first.source,
    )


def from_frame(frame: Frame) -> Function:
    """Make the record of a function known by its frame description only."""
    name = f"fn_{frame.address:x}"
    return Function(
        offset=frame.address,
        size=frame.size,
        symbol=name,
        name=name,
        aliases=[],
        source="eh_frame",
    )
