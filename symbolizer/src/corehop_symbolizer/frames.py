"""Functions known only by their boundaries: the frame descriptions (FDEs) of .eh_frame.

Compilers split cold parts off a function and give each its own description. Such a fragment is
entered by a jump within a frame, so it is no function entry. The first row of its table shows
this: its CFA is not rsp+8, the state after a call (`first_row.py`).

A large library has 100 000 descriptions, so the section is read once, entry by entry, and two
numbers of each are kept. The sorted table of .eh_frame_hdr would save no step: it has no sizes.
pyelftools creates about a dozen objects per entry, at ten times the time and memory.
Linux Standard Base 5.0, section 10.6 (the .eh_frame variant of DWARF's call frame information).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from corehop_symbolizer.first_row import ADVANCES, NOTHING_YET, Row, first_row, leb128
from corehop_symbolizer.image import Image, contents, reading

RSP = 7
"""DWARF's number for the stack pointer (System V ABI for x86-64, figure 3.36)."""

AFTER_A_CALL = Row(RSP, 8)
"""The CFA where a call has just pushed its return address."""

WORD = struct.Struct("<I")
WORD_SIZE_BYTES = 4

SIXTY_FOUR_BIT_LENGTH = 0xFFFF_FFFF
VERSION_WITH_ADDRESS_SIZES = 4

POINTER_FORMATS = {0x0: "Q", 0x2: "H", 0x3: "I", 0x4: "Q", 0xA: "h", 0xB: "i", 0xC: "q"}
"""How a pointer is stored, by the low half of its encoding (DW_EH_PE_...), as `struct` says it."""

ABSOLUTE = 0x00
RELATIVE_TO_ITSELF = 0x10


@dataclass
class Frames:
    """The described pieces of code."""

    sizes: dict[int, int] = field(default_factory=dict)
    """Size by first address."""

    fragments: set[int] = field(default_factory=set)
    """First addresses of those that no call enters."""


@dataclass(frozen=True)
class Common:
    """Common data of descriptions (CIE)."""

    extent: struct.Struct
    """The first address and the size, as a description stores them."""

    is_relative: bool
    is_augmented: bool
    row: Row | None


def read_frames(image: Image) -> Frames:
    """Return every described piece of code."""
    frames = Frames()
    with reading(image.path, ".eh_frame"):
        section = image.elf.get_section_by_name(".eh_frame")
        if section is None or section["sh_type"] == "SHT_NOBITS":
            return frames
        for address, size, is_entry in descriptions(contents(section), section["sh_addr"]):
            if size > 0 and image.is_code(address):
                frames.sizes[address] = size
                if is_entry:
                    frames.fragments.discard(address)
                else:
                    frames.fragments.add(address)
    return frames


def descriptions(table: bytes, table_address: int) -> Iterator[tuple[int, int, bool]]:
    """Yield each entry's address and size, and whether a call can enter there."""
    commons: dict[int, Common] = {}
    place = 0
    while place < len(table):
        try:
            (size_bytes,) = WORD.unpack_from(table, place)
            end = place + WORD_SIZE_BYTES + size_bytes
            # Linkers leave an empty end mark for each input that had one.
            if size_bytes > 0:
                distance, at = entry_start(table, place, size_bytes)
                if distance == 0:
                    commons[place] = read_common(table, at, end)
                else:
                    # The distance is counted back from its own field to an earlier entry.
                    common = commons[place + WORD_SIZE_BYTES - distance]
                    address, size = common.extent.unpack_from(table, at)
                    if common.is_relative:
                        address += table_address + at
                    at += common.extent.size
                    yield address, size, is_entry(table, at, end, common)
        except (IndexError, struct.error) as error:
            raise ValueError(f"the entry at byte {place} is cut short") from error
        except KeyError as error:
            raise ValueError(f"the entry at byte {place} belongs to none before it") from error
        place = end


def entry_start(table: bytes, place: int, size_bytes: int) -> tuple[int, int]:
    """Return the distance to the common entry (0 in a common entry), and the next position."""
    if size_bytes == SIXTY_FOUR_BIT_LENGTH:
        raise ValueError(f"the entry at byte {place} is of the 64-bit format")
    if size_bytes < WORD_SIZE_BYTES or place + WORD_SIZE_BYTES + size_bytes > len(table):
        raise IndexError
    (distance,) = WORD.unpack_from(table, place + WORD_SIZE_BYTES)
    return distance, place + 2 * WORD_SIZE_BYTES


def is_entry(table: bytes, place: int, end: int, common: Common) -> bool:
    """Return whether the CFA at the description's first instruction is the one after a call."""
    if common.is_augmented:
        size_bytes, place = leb128(table, place)
        place += size_bytes
    if place > end:
        raise IndexError
    # Nearly all begin with an advance and add nothing to the common row.
    begins_with_advance = place < end and table[place] in ADVANCES
    row = common.row if begins_with_advance else first_row(table[place:end], common.row)
    return row == AFTER_A_CALL


def read_common(table: bytes, place: int, end: int) -> Common:
    """Read a common entry, beginning at its version."""
    version = table[place]
    augmentation_end = table.find(b"\0", place + 1, end)
    if augmentation_end < 0:
        raise IndexError
    augmentation = table[place + 1 : augmentation_end]
    place = augmentation_end + 1
    if version >= VERSION_WITH_ADDRESS_SIZES:
        place += 2
    # Code alignment, data alignment, and the column of the return address.
    _, place = leb128(table, place)
    _, place = leb128(table, place)
    _, place = (0, place + 1) if version == 1 else leb128(table, place)
    encoding = ABSOLUTE
    is_augmented = augmentation.startswith(b"z")
    if is_augmented:
        size_bytes, place = leb128(table, place)
        encoding = read_encoding(augmentation[1:], table[place : place + size_bytes])
        place += size_bytes
    elif augmentation:
        raise ValueError(f"the augmentation {augmentation.decode('latin-1')!r} is unknown")
    if place > end:
        raise IndexError
    is_relative = encoding & 0xF0 == RELATIVE_TO_ITSELF
    if not is_relative and encoding & 0xF0 != ABSOLUTE:
        raise ValueError(f"the pointer encoding {encoding:#04x} is unknown")
    extent = struct.Struct("<" + 2 * pointer_format(encoding))
    row = first_row(table[place:end], NOTHING_YET)
    return Common(extent, is_relative, is_augmented, row)


def read_encoding(letters: bytes, told: bytes) -> int:
    """Return the pointer encoding of descriptions; each letter describes one field."""
    encoding, place = ABSOLUTE, 0
    for letter in letters:
        match chr(letter):
            case "R":
                encoding = told[place]
                place += 1
            case "L":
                place += 1
            case "P":
                place += 1 + struct.calcsize("<" + pointer_format(told[place]))
            case "S":
                pass
            case _:
                break
    return encoding


def pointer_format(encoding: int) -> str:
    """Return `struct`'s letter for a pointer of the encoding."""
    stored = encoding & 0x0F
    if stored not in POINTER_FORMATS:
        raise ValueError(f"the pointer encoding {encoding:#04x} is unknown")
    return POINTER_FORMATS[stored]
