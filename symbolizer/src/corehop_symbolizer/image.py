"""Opens ELF files, and rejects those whose functions cannot be determined correctly.

pyelftools parses any bytes and fails at the first inconsistency. The checks here run first, so that
an unsuitable file gets a message about the file and not about a parser. Damage in the contents is
detected where each part is read (`reading`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section
from elftools.elf.segments import NoteSegment

from corehop_symbolizer.errors import InputError
from corehop_symbolizer.extents import Extents

MACHINE_X86_64 = 62
"""EM_X86_64 of the System V gABI, chapter 4."""

SIXTY_FOUR_BIT = 2
LITTLE_ENDIAN = 1
HEADER_SIZE_BYTES = 64
HEADER_SIZES_BYTES = {"section": 64, "program": 56}
TYPES_WITH_ADDRESSES = {2: "executable", 3: "shared object"}


@dataclass(frozen=True)
class Image:
    """A complete 64-bit ELF file for x86-64."""

    path: str
    elf: ELFFile
    build_id: str
    executable: Extents
    """Virtual addresses that are mapped executable."""

    stubs: Extents
    """Those of the procedure linkage table.

    The stubs have frame descriptions of their own, each covering all stubs at once: taken for a
    function, the first import would stand for every one.
    """

    def is_code(self, address: int) -> bool:
        """Return whether a function could begin at the virtual address."""
        return address in self.executable and address not in self.stubs


@contextlib.contextmanager
def reading(path: str, place: str) -> Iterator[None]:
    """Convert any exception of a parser on damaged bytes to a message with file and place.

    Such parsers raise anything from KeyError to RecursionError, so no list of exceptions would be
    complete.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            path, f"its {place} is damaged ({reason})", "install the file again"
        ) from error


def open_file(path: str) -> IO[bytes]:
    """Open the file at `path`. Opening a pipe would wait for a writer, maybe forever."""

    def open_unless_pipe(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is a pipe")
        return descriptor

    return open(path, "rb", opener=open_unless_pipe)


@contextlib.contextmanager
def opened(path: str) -> Iterator[Image]:
    """Open the file at `path`; it stays open while its sections are read."""
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(open_file(path))
        except FileNotFoundError as error:
            raise InputError(path, "there is no such file", "check the path") from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InputError(
                path, f"cannot be read: {reason}", "name a readable ELF file"
            ) from error
        check_header(path, stream)
        with reading(path, "ELF header"):
            elf = ELFFile(stream)
        check_extents(path, elf, os.fstat(stream.fileno()).st_size)
        with reading(path, "program header"):
            executable = Extents(executable_ranges(elf))
            stubs = Extents(stub_ranges(elf))
            build_id = read_build_id(elf)
        yield Image(path, elf, build_id, executable, stubs)


def contents(section: Section) -> bytes:
    """Return the bytes of a section, which `check_extents` has checked against the file size."""
    if section["sh_type"] == "SHT_NOBITS":
        raise ValueError(f"{section.name} is not in the file")
    if section["sh_flags"] & SH_FLAGS.SHF_COMPRESSED:
        raise ValueError(f"{section.name} is compressed")
    section.stream.seek(section["sh_offset"])
    return section.stream.read(section["sh_size"])


def check_header(path: str, stream: IO[bytes]) -> None:
    """Reject a file that is not a 64-bit little-endian x86-64 program or library."""
    header = stream.read(HEADER_SIZE_BYTES)
    stream.seek(0)
    if not header:
        raise InputError(path, "the file is empty", "name an ELF file")
    if header[:4] != b"\x7fELF"[: len(header)]:
        raise InputError(path, "not an ELF file", "name a program or a shared library")
    if len(header) < HEADER_SIZE_BYTES:
        raise InputError(path, "truncated inside the ELF header", "install the file again")
    if header[4] != SIXTY_FOUR_BIT:
        raise InputError(path, "not a 64-bit ELF file", "corehop handles x86-64 programs only")
    machine = int.from_bytes(header[18:20], "little" if header[5] == LITTLE_ENDIAN else "big")
    if header[5] != LITTLE_ENDIAN or machine != MACHINE_X86_64:
        raise InputError(
            path,
            f"built for another architecture (ELF machine {machine})",
            "corehop handles x86-64 programs only",
        )
    kind = int.from_bytes(header[16:18], "little")
    if kind not in TYPES_WITH_ADDRESSES:
        raise InputError(
            path,
            f"neither a program nor a shared library (ELF type {kind})",
            "name the linked file",
        )


def check_extents(path: str, elf: ELFFile, size_bytes: int) -> None:
    """Reject a file that is shorter than its headers require, or that has no sections."""
    remedy = "install the file again"
    if elf["e_shoff"] == 0:
        raise InputError(
            path,
            "has no section headers, so its functions are unknown",
            "use the file as the distribution ships it",
        )
    with reading(path, "ELF header"):
        tables = (
            ("section", elf["e_shoff"], elf.num_sections(), elf["e_shentsize"]),
            ("program", elf["e_phoff"], elf.num_segments(), elf["e_phentsize"]),
        )
    for kind, start, count, header_size_bytes in tables:
        if start + count * HEADER_SIZES_BYTES[kind] > size_bytes:
            problem = f"truncated: its {kind} headers begin at byte {start} of {size_bytes}"
            raise InputError(path, problem, remedy)
        if count > 0 and header_size_bytes != HEADER_SIZES_BYTES[kind]:
            problem = f"damaged: its {kind} headers have {header_size_bytes} bytes each"
            raise InputError(path, problem, remedy)
    with reading(path, "section header table"):
        for section in elf.iter_sections():
            end = section["sh_offset"] + section["sh_size"]
            if section["sh_type"] != "SHT_NOBITS" and end > size_bytes:
                raise InputError(
                    path,
                    f"truncated: section {section.name} ends at byte {end} of {size_bytes}",
                    remedy,
                )


def executable_ranges(elf: ELFFile) -> Iterator[range]:
    """Yield the virtual addresses of every executable load segment."""
    for segment in elf.iter_segments("PT_LOAD"):
        if segment["p_flags"] & 1:
            yield range(segment["p_vaddr"], segment["p_vaddr"] + segment["p_memsz"])


def stub_ranges(elf: ELFFile) -> Iterator[range]:
    """Yield the virtual addresses of every section of linkage stubs."""
    for section in elf.iter_sections():
        if section.name.startswith(".plt"):
            yield range(section["sh_addr"], section["sh_addr"] + section["sh_size"])


def read_build_id(elf: ELFFile) -> str:
    """Return the GNU build id in lower-case hexadecimal; empty if the file has none."""
    for segment in elf.iter_segments("PT_NOTE"):
        if not isinstance(segment, NoteSegment):
            continue
        for note in segment.iter_notes():
            if note["n_type"] == "NT_GNU_BUILD_ID" and note["n_name"] == "GNU":
                return str(note["n_desc"])
    return ""
