"""A cache of results, by build id and by a hash of the tables that they were read from.

A build id alone does not determine the functions of a file: `strip` keeps it and removes names,
`objcopy` keeps it and renames them, and a debug file can be installed later. Sizes are not
sufficient either, because a new name may be as long as the old one. Reading the tables takes a
fraction of the time needed to derive functions from them. A file without a build id is identified
by a hash of its contents. An entry that does not match its own checksum, or that a crash cut off,
counts as absent and is written again. Entries contain the text that is printed, so a hit copies it.
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
    """Return the folder for entries of this format version."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The base directory specification requires relative paths to be ignored.
    base = Path(named) if named.startswith("/") else Path.home() / ".cache"
    return base / "corehop" / "symbols" / f"v{FORMAT_VERSION}"


def key(image: Image, debug: Image | None) -> str:
    """Return the key of the file's functions."""
    names = "" if debug is None else f"-{digest(debug, TABLES[:1])}"
    if not image.build_id:
        with open(image.path, "rb") as stream:  # noqa: PTH123 (as `opened` does)
            return f"sha256-{hashlib.file_digest(stream, 'sha256').hexdigest()}{names}"
    return f"{image.build_id}-{digest(image, TABLES)}{names}"


def digest(image: Image, tables: Iterable[str]) -> str:
    """Return a hash of the names, addresses and contents of some sections and their strings."""
    result = hashlib.sha256()
    for name in tables:
        result.update(name.encode())
        for section in with_strings(image, name):
            # The sizes separate the bytes of consecutive sections.
            result.update(f" {section['sh_addr']:x} {section['sh_size']:x} ".encode())
            if section["sh_type"] != "SHT_NOBITS":
                for part in parts(section):
                    result.update(part)
    return result.hexdigest()[:DIGITS]


def with_strings(image: Image, name: str) -> Iterator[Section]:
    """Yield a section and the section with its names, if the file has them."""
    section = image.elf.get_section_by_name(name)
    if section is None:
        return
    yield section
    link = section["sh_link"]
    if 0 < link < image.elf.num_sections():
        yield image.elf.get_section(link)


def parts(section: Section) -> Iterator[bytes]:
    """Yield the raw bytes of a section, possibly compressed."""
    section.stream.seek(section["sh_offset"])
    left = section["sh_size"]
    while left > 0 and (part := section.stream.read(min(left, PART_BYTES))):
        left -= len(part)
        yield part


def load(entry_key: str) -> bytes | None:
    """Return the functions stored under the key; None if there is no valid entry."""
    try:
        with (directory() / f"{entry_key}.json").open("rb") as stream:
            header, body = stream.readline(), stream.read()
        return body if json.loads(header) == description(entry_key, body) else None
    except (OSError, ValueError, RuntimeError):
        return None


def store(entry_key: str, body: bytes | bytearray) -> None:
    """Store the functions; a cache that cannot be written only costs time."""
    header = json.dumps(description(entry_key, body)).encode()
    with contextlib.suppress(OSError, RuntimeError):
        folder = directory()
        # Only this user may write here: the entries determine a file's functions.
        mask = os.umask(0o077)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        finally:
            os.umask(mask)
        write_beside(folder / f"{entry_key}.json", (header, b"\n", body))


def description(entry_key: str, body: bytes | bytearray) -> dict[str, object]:
    """Return the first line of an entry, which describes the rest."""
    return {
        "format": FORMAT_VERSION,
        "key": entry_key,
        "sha256": hashlib.sha256(body).hexdigest(),
    }
