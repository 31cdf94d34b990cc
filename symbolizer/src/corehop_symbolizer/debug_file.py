"""The file that holds what was stripped from a program, its names and DWARF, where there is one.

It is looked for where GDB looks (GDB's manual, "Debugging Information in Separate Files"): below
/usr/lib/debug by the build id, then by the name that the program gives (.gnu_debuglink), beside it,
in `.debug` there, and below /usr/lib/debug; last among what debuginfod has (`debuginfod.py`). One
that belongs to another build has other addresses, so a file counts only with the same build id or,
where one of them has none, with the checksum that the program demands. What is damaged or cannot
be read counts as absent, since a program has functions without it too.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from corehop_symbolizer import debuginfod
from corehop_symbolizer.errors import InputError
from corehop_symbolizer.image import Image, contents, opened, reading

VARIABLE = "COREHOP_DEBUG_FILES"
"""Names the folders of such files, separated by colons; none where it is empty."""

EVERYWHERE = "/usr/lib/debug"
"""Debian's, Fedora's and GDB's own folder of such files, which counts where no other is named."""

CHECKSUM = struct.Struct("<I")

SHORTEST_BUILD_ID = 3
"""A folder's two digits and one more."""


@contextlib.contextmanager
def opened_beside(image: Image) -> Iterator[Image | None]:
    """Open the program's debug file; none where nothing was stripped."""
    if has(image, ".symtab") and has(image, ".debug_line"):
        yield None
        return
    link = debug_link(image)
    for candidate in candidates(image, link):
        with contextlib.ExitStack() as stack:
            try:
                debug = stack.enter_context(opened(str(candidate)))
                belongs = has(debug, ".symtab") and is_of(image, debug, link)
            except InputError:
                continue
            if belongs:
                yield debug
                return
    yield None


def candidates(image: Image, link: tuple[str, int] | None) -> Iterator[Path]:
    """Give the files that may be it, the surest first."""
    identity = image.build_id
    named = os.environ.get(VARIABLE, EVERYWHERE).split(":")
    folders = [Path(folder) for folder in named if folder]
    if len(identity) >= SHORTEST_BUILD_ID:
        for folder in folders:
            yield folder / ".build-id" / identity[:2] / f"{identity[2:]}.debug"
    if link is not None:
        here = Path(image.path).resolve().parent
        below = (folder / here.relative_to(here.anchor) for folder in folders)
        for place in (here, here / ".debug", *below):
            yield place / link[0]
    if len(identity) >= SHORTEST_BUILD_ID and (found := debuginfod.debuginfo(identity)):
        yield found


def has(image: Image, name: str) -> bool:
    """Tell whether the file has a section that stripping takes away."""
    with reading(image.path, "section header table"):
        section = image.elf.get_section_by_name(name)
        return section is not None and section["sh_type"] != "SHT_NOBITS"


def debug_link(image: Image) -> tuple[str, int] | None:
    """Give the name of the file and its checksum, where the program has them in .gnu_debuglink."""
    with contextlib.suppress(InputError), reading(image.path, ".gnu_debuglink"):
        section = image.elf.get_section_by_name(".gnu_debuglink")
        data = b"" if section is None else contents(section)
        text, end, _ = data.partition(b"\0")
        # The checksum follows the name and its end, at the next multiple of four.
        after = len(text + end)
        start = after + -after % CHECKSUM.size
        name = text.decode(errors="surrogateescape")
        # A name, and nothing that leads out of the folder.
        if name == Path(name).name and name not in ("", ".", ".."):
            return name, CHECKSUM.unpack_from(data, start)[0]
    return None


def is_of(image: Image, debug: Image, link: tuple[str, int] | None) -> bool:
    """Tell whether the debug file was made with the program."""
    if image.build_id and debug.build_id:
        return image.build_id == debug.build_id
    return link is not None and link[1] == checksum_of(debug.path)


def checksum_of(path: str) -> int:
    """Give the CRC-32 of a file."""
    checksum = 0
    with open(path, "rb") as stream:  # noqa: PTH123 (as `opened` does)
        while part := stream.read(1 << 20):
            checksum = zlib.crc32(part, checksum)
    return checksum
