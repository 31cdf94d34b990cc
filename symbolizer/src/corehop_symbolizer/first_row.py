"""The frame at the first instruction of a call frame description.

The canonical frame address (CFA) is a register and an offset, which the instructions of the
common entry set and those of the description change. Only the instructions before the first
advance of the location are interpreted; decoding whole tables would take five times as long
without further information.
DWARF 5, section 6.4.2 and table 7.29.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

PRIMARY = 0b1100_0000
"""The bits that alone make an opcode such as advance_loc; the others are its operand."""

LONGEST_LEB128_BITS = 64


class Row(NamedTuple):
    """The CFA as a register and an offset from it."""

    register: int
    offset: int


NOTHING_YET = Row(-1, -1)
"""Before the first instruction: no register has such a number."""


class Opcode(IntEnum):
    """DW_CFA_..., as the standard names them."""

    advance_loc = 0x40
    offset = 0x80
    restore = 0xC0
    nop = 0x00
    set_loc = 0x01
    advance_loc1 = 0x02
    advance_loc2 = 0x03
    advance_loc4 = 0x04
    offset_extended = 0x05
    restore_extended = 0x06
    undefined = 0x07
    same_value = 0x08
    register = 0x09
    remember_state = 0x0A
    restore_state = 0x0B
    def_cfa = 0x0C
    def_cfa_register = 0x0D
    def_cfa_offset = 0x0E
    def_cfa_expression = 0x0F
    expression = 0x10
    offset_extended_sf = 0x11
    def_cfa_sf = 0x12
    def_cfa_offset_sf = 0x13
    val_offset = 0x14
    val_offset_sf = 0x15
    val_expression = 0x16
    GNU_args_size = 0x2E


ADVANCES = frozenset(
    {
        *range(Opcode.advance_loc, Opcode.advance_loc + (~PRIMARY & 0xFF) + 1),
        Opcode.set_loc,
        Opcode.advance_loc1,
        Opcode.advance_loc2,
        Opcode.advance_loc4,
    }
)
"""First bytes of the instructions that end a row."""

NUMBERS = {
    Opcode.nop: 0,
    Opcode.offset: 1,
    Opcode.restore: 0,
    Opcode.offset_extended: 2,
    Opcode.restore_extended: 1,
    Opcode.undefined: 1,
    Opcode.same_value: 1,
    Opcode.register: 2,
    Opcode.remember_state: 0,
    Opcode.restore_state: 0,
    Opcode.offset_extended_sf: 2,
    Opcode.val_offset: 2,
    Opcode.val_offset_sf: 2,
    Opcode.GNU_args_size: 1,
}
"""How many LEB128 numbers follow the instructions that leave the CFA as it is."""


def first_row(instructions: bytes, row: Row | None) -> Row | None:
    """Return the CFA at the first advance of the instructions, or None for a computed one.

    Raises ValueError for an unknown instruction, IndexError for a truncated one.
    """
    place = 0
    while row and place < len(instructions) and instructions[place] not in ADVANCES:
        opcode = instructions[place] & PRIMARY or instructions[place]
        place += 1
        match opcode:
            case Opcode.def_cfa:
                register, place = leb128(instructions, place)
                offset, place = leb128(instructions, place)
                row = Row(register, offset)
            case Opcode.def_cfa_register:
                register, place = leb128(instructions, place)
                row = Row(register, row.offset)
            case Opcode.def_cfa_offset:
                offset, place = leb128(instructions, place)
                row = Row(row.register, offset)
            case Opcode.def_cfa_sf | Opcode.def_cfa_offset_sf | Opcode.def_cfa_expression:
                row = None
            case Opcode.expression | Opcode.val_expression:
                _, place = leb128(instructions, place)
                size, place = leb128(instructions, place)
                place += size
            case _:
                place = after_numbers(instructions, place, opcode)
    return row


def after_numbers(instructions: bytes, place: int, opcode: int) -> int:
    """Return the position after the operands of an instruction that keeps the CFA."""
    if opcode not in NUMBERS:
        raise ValueError(f"the frame instruction {opcode:#04x} is unknown")
    for _ in range(NUMBERS[Opcode(opcode)]):
        _, place = leb128(instructions, place)
    return place


def leb128(encoded: bytes, place: int) -> tuple[int, int]:
    """Return the unsigned number at `place`, and the position after it."""
    value = shift = 0
    while True:
        byte = encoded[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 (the bit that says another byte follows)
            return value, place
        shift += 7
        if shift >= LONGEST_LEB128_BITS:
            raise ValueError(f"a number has more than {LONGEST_LEB128_BITS} bits")
