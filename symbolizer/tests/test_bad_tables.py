"""Invalid tables: an error line with file and table, or a result without the invalid data."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from corehop_symbolizer.command import main

Compiled = Callable[..., Path]
Told = Callable[[bytes], tuple[int, str, str]]

SOURCE = """
int one(int x) { return x; }
static int __attribute__((used, noinline)) two(int x) { return x * one(x); }
int three(int x) { return two(x); }
"""

SECTION_HEADER_SIZE_BYTES = 64
SECTION_FIELDS = {"type": (4, "I"), "offset": (24, "Q"), "size": (32, "Q"), "link": (40, "I")}
SECTION_FIELDS |= {"info": (44, "I"), "entsize": (56, "Q"), "flags": (8, "Q")}
FILE_FIELDS = {"shnum": (60, "H"), "shentsize": (58, "H"), "phnum": (56, "H")}
FILE_FIELDS |= {"phentsize": (54, "H"), "phoff": (32, "Q"), "shoff": (40, "Q")}

MOST = {"H": 2**16 - 1, "I": 2**32 - 1, "Q": 2**64 - 1}


@pytest.fixture
def whole(compiled: Compiled) -> bytes:
    return compiled(SOURCE).read_bytes()


@pytest.fixture
def told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Told:
    """Return exit code, output and error of an in-process run on the bytes: starts are slow."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "bad.so"

    def run(contents: bytes) -> tuple[int, str, str]:
        path.write_bytes(contents)
        code = main(["--no-cache", str(path)])
        captured = capsys.readouterr()
        assert code in (0, 3), captured.err
        assert len(captured.err.splitlines()) == (1 if code else 0)
        return code, captured.out, captured.err

    return run


def section(whole: bytes, name: str) -> Any:
    """Return the header of a section, with its `number`."""
    elf = ELFFile(BytesIO(whole))
    number = elf.get_section_index(name)
    assert number is not None
    return {**elf.get_section(number).header, "number": number}


def with_bytes(whole: bytes, place: int, replacement: bytes) -> bytes:
    return whole[:place] + replacement + whole[place + len(replacement) :]


def with_section(whole: bytes, number: int, **fields: int) -> bytes:
    (table,) = struct.unpack_from("<Q", whole, FILE_FIELDS["shoff"][0])
    for field, value in fields.items():
        place, letter = SECTION_FIELDS[field]
        place += table + number * SECTION_HEADER_SIZE_BYTES
        whole = with_bytes(whole, place, struct.pack("<" + letter, value))
    return whole


def with_file(whole: bytes, **fields: int) -> bytes:
    for field, value in fields.items():
        place, letter = FILE_FIELDS[field]
        whole = with_bytes(whole, place, struct.pack("<" + letter, value))
    return whole


LEB_WITHOUT_END = b"\x80" * 40


@pytest.mark.parametrize(
    ("place", "replacement", "problem"),
    [
        (0, struct.pack("<I", 2**32 - 2), "entry at byte 0 is cut short"),
        (0, struct.pack("<I", 2**32 - 1), "entry at byte 0 is of the 64-bit format"),
        (0, struct.pack("<I", 3), "entry at byte 0 is cut short"),
        (4, struct.pack("<I", 77), "entry at byte 0 belongs to none before it"),
        (9, b"q", "augmentation 'qR' is unknown"),
        (16, b"\x51", "pointer encoding 0x51 is unknown"),
        (16, b"\x1d", "pointer encoding 0x1d is unknown"),
        (17, b"\x3f", "frame instruction 0x3f is unknown"),
        (12, LEB_WITHOUT_END, "number has more than 64 bits"),
        (24 + 0, struct.pack("<I", 11), "entry at byte 24 is cut short"),
        (24 + 4, struct.pack("<I", 2**32 - 1), "entry at byte 24 belongs to none before it"),
        (24 + 16, b"\x7f", "entry at byte 24 is cut short"),
    ],
)
def test_a_frame_description_that_lies(
    place: int, replacement: bytes, problem: str, whole: bytes, told: Told
) -> None:
    header = section(whole, ".eh_frame")
    code, printed, said = told(with_bytes(whole, header["sh_offset"] + place, replacement))
    assert (code, printed) == (3, "")
    assert "its .eh_frame is damaged" in said
    assert problem in said


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"entsize": 0}, ""),
        ({"entsize": 1}, "an entry has 1 bytes and not 24"),
        ({"entsize": 2**64 - 1}, ""),
        ({"link": 2**32 - 1}, ""),
        ({"link": 0}, ""),
        ({"size": 25}, ""),
        ({"flags": 0x800}, ""),
    ],
)
def test_a_symbol_table_that_lies(
    fields: dict[str, int], problem: str, whole: bytes, told: Told
) -> None:
    for name in (".symtab", ".dynsym"):
        number = section(whole, name)["number"]
        code, printed, said = told(with_section(whole, number, **fields))
        assert (code, printed) == (3, "")
        assert problem in said


def test_names_outside_their_table(whole: bytes, told: Told) -> None:
    table = section(whole, ".symtab")
    names = section(whole, ".strtab")
    for number in range(table["sh_size"] // table["sh_entsize"]):
        place = table["sh_offset"] + number * table["sh_entsize"]
        code, _, said = told(with_bytes(whole, place, struct.pack("<I", names["sh_size"])))
        is_function = whole[place + 4] & 0xF == 2 and whole[place + 6 : place + 8] != bytes(2)
        assert code == (3 if is_function else 0)
        assert (f"the name of entry {number} begins at byte" in said) == is_function
    last = names["sh_offset"] + names["sh_size"] - 1
    assert "its last name has no end" in told(with_bytes(whole, last, b"x"))[2]


def test_a_search_table_that_lies_is_not_believed(whole: bytes, told: Told) -> None:
    header = section(whole, ".eh_frame_hdr")
    place, size = header["sh_offset"], header["sh_size"]
    as_it_is = told(whole)
    assert as_it_is[0] == 0
    assert told(with_bytes(whole, place, b"\xff" * size)) == as_it_is
    assert told(with_bytes(whole, place + 8, b"\xff" * (size - 8))) == as_it_is


def test_counts_of_headers_that_no_file_could_hold(whole: bytes, told: Told) -> None:
    for count in (2**32, 2**63, 2**64 - 1):
        many = with_section(with_file(whole, shnum=0), 0, size=count)
        assert "truncated: its section headers begin" in told(many)[2]
    many = with_section(with_file(whole, phnum=2**16 - 1), 0, info=2**32 - 1)
    assert "truncated: its program headers begin" in told(many)[2]
    assert "program headers have 0 bytes each" in told(with_file(whole, phentsize=0))[2]
    assert "section headers have 1 bytes each" in told(with_file(whole, shentsize=1))[2]
    assert "truncated: its program headers begin" in told(with_file(whole, phoff=2**64 - 1))[2]


def test_a_section_of_no_contents_is_not_made_up(whole: bytes, told: Told) -> None:
    nowhere, most = 8, 2**62
    names = section(whole, ".strtab")["number"]
    assert told(with_section(whole, names, type=nowhere, size=most))[0] == 3
    frames = section(whole, ".eh_frame")["number"]
    code, printed, _ = told(with_section(whole, frames, type=nowhere, size=most))
    assert code == 0
    assert '"eh_frame"' not in printed


def test_tables_that_overlap_or_end_early(whole: bytes, told: Told) -> None:
    names = (".eh_frame", ".symtab", ".strtab", ".dynsym", ".dynstr", ".text", ".shstrtab")
    headers = [section(whole, name) for name in names]
    for one in headers:
        for other in headers:
            extent = {"offset": other["sh_offset"], "size": other["sh_size"]}
            told(with_section(whole, one["number"], **extent))
        for size in range(0, one["sh_size"], 7):
            told(with_section(whole, one["number"], size=size))


def test_flipped_bits_in_the_tables(whole: bytes, told: Told) -> None:
    chooser = random.Random(20170213)
    names = (".eh_frame", ".eh_frame_hdr", ".symtab", ".strtab", ".dynsym", ".dynstr")
    extents = [section(whole, name) for name in names]
    places = [(header["sh_offset"], header["sh_size"]) for header in extents]
    (headers,) = struct.unpack_from("<Q", whole, FILE_FIELDS["shoff"][0])
    places += [(0, SECTION_HEADER_SIZE_BYTES), (headers, len(whole) - headers)]
    for _ in range(400):
        damaged = bytearray(whole)
        start, size = chooser.choice(places)
        for _ in range(3):
            damaged[start + chooser.randrange(size)] ^= 1 << chooser.randrange(8)
        told(bytes(damaged))
