"""What was read once, kept by build id and by a hash of the tables that it was read from.

A build id alone does not say which functions a file has: `strip` keeps it and takes the names away,
`objcopy` keeps it and renames them, and a debug file can be installed later. Sizes do not say it
either, since a new name may be as long as the old one. The tables are read in a fraction of the
time that it takes to make functions of them. A file without a build id is known by a hash of its
contents. An entry that does not match its own checksum, or
that a crash cut short, counts as absent and is written again. What is kept is the very text that
is printed, so a hit copies it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from elftools.elf.sections import Section

from corehop_symbolizer import FORMAT_VERSION
from corehop_symbolizer.image import Image
from corehop_symbolizer.replace import write_beside

TABLES = (".symtab", ".dynsym", ".eh_frame")

DIGITS = 32
"""Of a hash, in the name of an entry."""

PART_BYTES = 1 << 20


def directory() -> Path:
    """Give the folder of this format version's entries."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The base directory specification has relative paths ignored.
    base = Path(named) if named.startswith("/") else Path.home() / ".cache"
    return base / "corehop" / "symbols" / f"v{FORMAT_VERSION}"


def key(image: Image, debug: Image | None) -> str:
    """Give the name under which the file's functions are kept."""
    names = "" if debug is None else f"-{digest(debug, TABLES[:1])}"
    if not image.build_id:
        with open(image.path, "rb") as stream:  # noqa: PTH123 (as `opened` does)
            return f"sha256-{hashlib.file_digest(stream, 'sha256').hexdigest()}{names}"
    return f"{image.build_id}-{digest(image, TABLES)}{names}"


def digest(image: Image, tables: Iterable[str]) -> str:
    """Give a hash of where some sections are loaded and of what they hold, with their names."""
    result = hashlib.sha256()
    for name in tables:
        result.update(name.encode())
        for section in with_strings(image, name):
            # The sizes keep the bytes of one apart from those of the next.
            result.update(f" {section['sh_addr']:x} {section['sh_size']:x} ".encode())
            if section["sh_type"] != "SHT_NOBITS":
                for part in parts(section):
                    result.update(part)
    return result.hexdigest()[:DIGITS]


def with_strings(image: Image, name: str) -> Iterator[Section]:
    """Give a section and the one with its names, where the file has them."""
    section = image.elf.get_section_by_name(name)
    if section is None:
        return
    yield section
    link = section["sh_link"]
    if 0 < link < image.elf.num_sections():
        yield image.elf.get_section(link)


def parts(section: Section) -> Iterator[bytes]:
    """Give the bytes of a section as the file has them, perhaps compressed."""
    section.stream.seek(section["sh_offset"])
    left = section["sh_size"]
    while left > 0 and (part := section.stream.read(min(left, PART_BYTES))):
        left -= len(part)
        yield part


def load(entry_key: str) -> bytes | None:
    """Give the functions kept under the key, or None where none are, or none that are whole."""
    try:
        with (directory() / f"{entry_key}.json").open("rb") as stream:
            header, body = stream.readline(), stream.read()
        return body if json.loads(header) == description(entry_key, body) else None
    except (OSError, ValueError, RuntimeError):
        return None


def store(entry_key: str, body: bytes | bytearray) -> None:
    """Keep the functions; a cache that cannot be written costs time and nothing else."""
    header = json.dumps(description(entry_key, body)).encode()
    with contextlib.suppress(OSError, RuntimeError):
        folder = directory()
        # Whoever can write here decides what functions a file has.
        mask = os.umask(0o077)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        finally:
            os.umask(mask)
        write_beside(folder / f"{entry_key}.json", (header, b"\n", body))


def description(entry_key: str, body: bytes | bytearray) -> dict[str, object]:
    """Give the first line of an entry, which says what the rest must be."""
    return {
        "format": FORMAT_VERSION,
        "key": entry_key,
        "sha256": hashlib.sha256(body).hexdigest(),
    }
