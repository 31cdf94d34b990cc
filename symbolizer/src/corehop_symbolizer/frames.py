"""Functions that have only boundaries: the frame descriptions (FDEs) of .eh_frame.

Compilers split cold parts off a function and give each its own description. Such a fragment is
jumped to in the middle of a frame, so it is no place to enter a function: it shows in the first
row of its table, where the canonical frame address (CFA) is not rsp+8, what a call leaves behind.
Only the instructions before the first advance of the location are interpreted for that; decoding
whole tables would take five times as long and tell nothing more.
DWARF 5, section 6.4; Linux Standard Base 5.0, section 10.6 (the .eh_frame variant).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from io import BytesIO

from elftools.dwarf.callframe import FDE, CallFrameInfo, CallFrameInstruction
from elftools.dwarf.structs import DWARFStructs

from corehop_symbolizer.image import Image, reading

RSP = 7
"""DWARF's number for the stack pointer (System V ABI for x86-64, figure 3.36)."""

RETURN_ADDRESS_SIZE_BYTES = 8

PRIMARY = 0b1100_0000
"""The bits that alone make an opcode such as advance_loc; the others are its operand."""


class DW_CFA(IntEnum):  # noqa: N801 (DWARF's name)
    """Instructions that matter here (DWARF 5, table 7.29); old versions of pyelftools name none."""

    advance_loc = 0x40
    set_loc = 0x01
    advance_loc1 = 0x02
    advance_loc2 = 0x03
    advance_loc4 = 0x04
    def_cfa = 0x0C
    def_cfa_register = 0x0D
    def_cfa_offset = 0x0E
    def_cfa_expression = 0x0F
    def_cfa_sf = 0x12
    def_cfa_offset_sf = 0x13


ADVANCES = frozenset(
    {DW_CFA.set_loc, DW_CFA.advance_loc1, DW_CFA.advance_loc2, DW_CFA.advance_loc4}
)


@dataclass(frozen=True)
class Frame:
    """The extent of one piece of code, and whether a call can enter it at its start."""

    address: int
    size: int
    is_entry: bool


def read_frames(image: Image) -> dict[int, Frame]:
    """Give every described piece of code by its first address."""
    with reading(image.path, ".eh_frame"):
        section = image.elf.get_section_by_name(".eh_frame")
        if section is None or section["sh_type"] == "SHT_NOBITS":
            return {}
        structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
        contents = section.data()
        table = CallFrameInfo(
            BytesIO(contents), len(contents), section["sh_addr"], structs, for_eh_frame=True
        )
        frames: dict[int, Frame] = {}
        for entry in table.get_entries():
            if not isinstance(entry, FDE):
                continue
            address, size = entry["initial_location"], entry["address_range"]
            if size > 0 and image.is_code(address):
                frames[address] = Frame(address, size, starts_after_a_call(entry))
        return frames


def starts_after_a_call(entry: FDE) -> bool:
    """Tell whether the CFA at the first instruction is rsp+8."""
    if entry.cie is None:
        return False
    first_row = [*entry.cie.instructions, *before_first_advance(entry.instructions)]
    register, offset = None, None
    for instruction in first_row:
        match int(instruction.opcode):
            case DW_CFA.def_cfa:
                register, offset = instruction.args
            case DW_CFA.def_cfa_register:
                (register,) = instruction.args
            case DW_CFA.def_cfa_offset:
                (offset,) = instruction.args
            case DW_CFA.def_cfa_sf | DW_CFA.def_cfa_offset_sf | DW_CFA.def_cfa_expression:
                return False
    return register == RSP and offset == RETURN_ADDRESS_SIZE_BYTES


def before_first_advance(
    instructions: Iterable[CallFrameInstruction],
) -> Iterable[CallFrameInstruction]:
    """Give the instructions that describe the first row."""
    for instruction in instructions:
        opcode = int(instruction.opcode)
        if opcode & PRIMARY == DW_CFA.advance_loc or opcode in ADVANCES:
            return
        yield instruction
