"""A simple, slow reading of a file's functions by pyelftools, with an object per entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from elftools.dwarf.callframe import FDE, CallFrameInfo, CallFrameInstruction
from elftools.dwarf.structs import DWARFStructs
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

SCOPES = {"STB_GLOBAL": 0, "STB_LOOS": 0, "STB_WEAK": 1}
LOCAL = 2

ADVANCE_LOC = 0x40
OTHER_ADVANCES = (0x01, 0x02, 0x03, 0x04)
COMPUTED = (0x0F, 0x12, 0x13)
AFTER_A_CALL = [7, 8]

Name = tuple[int, int, str, int, str]
IsCode = Callable[[int], bool]


def functions(path: str | Path) -> list[dict[str, Any]]:
    """Return all printed fields of each function except its demangled name, in order."""
    with open(path, "rb") as stream:  # noqa: PTH123
        elf = ELFFile(stream)
        is_code = code(elf)
        names, described = named(elf, is_code), frames(elf, is_code)
    found = []
    for address in sorted({*names, *described}):
        described_size, is_entry = described.get(address, (0, True))
        if address not in names:
            if is_entry:
                found.append(record(address, described_size, [f"fn_{address:x}"], "eh_frame"))
            continue
        candidates = sorted(names[address])
        scope, _, _, size, source = candidates[0]
        if is_entry or scope != LOCAL:
            size = size or max(candidate[3] for candidate in candidates) or described_size
            symbols = [candidate[2] for candidate in candidates]
            found.append(record(address, size, symbols, source))
    return found


def record(address: int, size: int, symbols: list[str], source: str) -> dict[str, Any]:
    symbol, *aliases = symbols
    told = {"offset": address, "size": size, "symbol": symbol, "aliases": aliases}
    return {**told, "source": source}


def code(elf: ELFFile) -> IsCode:
    """Return a predicate for executable addresses outside linkage stubs."""
    executable = [
        range(segment["p_vaddr"], segment["p_vaddr"] + segment["p_memsz"])
        for segment in elf.iter_segments()
        if segment["p_type"] == "PT_LOAD" and segment["p_flags"] & 1
    ]
    stubs = [
        range(section["sh_addr"], section["sh_addr"] + section["sh_size"])
        for section in elf.iter_sections()
        if section.name.startswith(".plt")
    ]

    def is_code(address: int) -> bool:
        return any(address in r for r in executable) and not any(address in r for r in stubs)

    return is_code


def named(elf: ELFFile, is_code: IsCode) -> dict[int, list[Name]]:
    """Return scope, length, name, size and source of each distinct symbol, by address."""
    found: dict[int, list[Name]] = {}
    for source in ("symtab", "dynsym"):
        section = elf.get_section_by_name(f".{source}")
        if not isinstance(section, SymbolTableSection):
            continue
        for entry in section.iter_symbols():
            kind, binding = entry["st_info"]["type"], entry["st_info"]["bind"]
            wanted = kind in ("STT_FUNC", "STT_LOOS") and entry["st_shndx"] != "SHN_UNDEF"
            if wanted and entry.name and is_code(entry["st_value"]):
                names = found.setdefault(entry["st_value"], [])
                if entry.name not in {name[2] for name in names}:
                    scope = SCOPES.get(binding, LOCAL)
                    name = (scope, len(entry.name), entry.name, entry["st_size"], source)
                    names.append(name)
    return found


def frames(elf: ELFFile, is_code: IsCode) -> dict[int, tuple[int, bool]]:
    """Return the size of each described piece of code, and whether a call enters it, by address."""
    section = elf.get_section_by_name(".eh_frame")
    if section is None:
        return {}
    contents = section.data()
    structs = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
    table = CallFrameInfo(
        BytesIO(contents), len(contents), section["sh_addr"], structs, for_eh_frame=True
    )
    entries = (entry for entry in table.get_entries() if isinstance(entry, FDE))
    extents = ((e, e["initial_location"], e["address_range"]) for e in entries)
    return {
        address: (size, first_cfa(entry) == AFTER_A_CALL)
        for entry, address, size in extents
        if size > 0 and is_code(address)
    }


def first_cfa(entry: FDE) -> list[int] | None:
    """Return register and offset at the first instruction."""
    assert entry.cie is not None
    cfa = [-1, -1]
    for instruction in [*entry.cie.instructions, *before_first_advance(entry.instructions)]:
        match int(instruction.opcode):
            case opcode if opcode in COMPUTED:
                return None
            case 0x0C:
                cfa = list(instruction.args)
            case 0x0D:
                cfa[0] = instruction.args[0]
            case 0x0E:
                cfa[1] = instruction.args[0]
    return cfa


def before_first_advance(
    instructions: list[CallFrameInstruction],
) -> Iterator[CallFrameInstruction]:
    for instruction in instructions:
        opcode = int(instruction.opcode)
        if opcode & 0xC0 == ADVANCE_LOC or opcode in OTHER_ADVANCES:
            return
        yield instruction
