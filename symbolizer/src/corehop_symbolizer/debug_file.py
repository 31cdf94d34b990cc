"""The debug file with the names and DWARF stripped from a program, if there is one.

It is searched in the same places as by GDB (GDB's manual, "Debugging Information in Separate
Files"): below /usr/lib/debug by the build id; then by the name in the program (.gnu_debuglink), in
the program's folder, in its `.debug` folder, and below /usr/lib/debug; finally by debuginfod
(`debuginfod.py`). The debug file of another build has other addresses. So a file counts only with
the same build id or, if one of them has none, with the checksum stored in the program. A damaged
or unreadable file counts as absent, because a program has functions without it too.
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
from corehop_symbolizer.image import Image, contents, open_file, opened, reading

VARIABLE = "COREHOP_DEBUG_FILES"
"""Names the folders of such files, separated by colons; none where it is empty."""

EVERYWHERE = "/usr/lib/debug"
"""Debian's, Fedora's and GDB's own folder of such files, which counts where no other is named."""

CHECKSUM = struct.Struct("<I")

SHORTEST_BUILD_ID = 3
"""A folder's two digits and one more."""


@contextlib.contextmanager
def opened_beside(image: Image) -> Iterator[Image | None]:
    """Open the program's debug file; None if nothing was stripped."""
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
    """Yield possible debug files, the most reliable first."""
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
    """Return whether the file has a section that stripping removes."""
    with reading(image.path, "section header table"):
        section = image.elf.get_section_by_name(name)
        return section is not None and section["sh_type"] != "SHT_NOBITS"


def debug_link(image: Image) -> tuple[str, int] | None:
    """Return the debug file's name and checksum from .gnu_debuglink, if present."""
    with contextlib.suppress(InputError), reading(image.path, ".gnu_debuglink"):
        section = image.elf.get_section_by_name(".gnu_debuglink")
        data = b"" if section is None else contents(section)
        text, end, _ = data.partition(b"\0")
        # The checksum follows the name's NUL byte, at the next multiple of four.
        after = len(text + end)
        start = after + -after % CHECKSUM.size
        name = text.decode(errors="surrogateescape")
        # Accept only a plain name, which cannot lead out of the folder.
        if name == Path(name).name and name not in ("", ".", ".."):
            return name, CHECKSUM.unpack_from(data, start)[0]
    return None


def is_of(image: Image, debug: Image, link: tuple[str, int] | None) -> bool:
    """Return whether the debug file belongs to the program."""
    if image.build_id and debug.build_id:
        return image.build_id == debug.build_id
    return link is not None and link[1] == checksum_of(debug.path)


def checksum_of(path: str) -> int:
    """Return the CRC-32 of a file."""
    checksum = 0
    with open_file(path) as stream:
        while part := stream.read(1 << 20):
            checksum = zlib.crc32(part, checksum)
    return checksum
