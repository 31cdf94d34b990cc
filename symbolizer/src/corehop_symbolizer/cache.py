"""What was read once, kept by build id.

The same build has the same functions, so an entry never grows old; but `strip` keeps the build id
and takes the names away, so the sizes of the three tables are part of the key, and the size of
the names in a debug file, which can be installed later. A file without a build id is known by a
hash of its contents. An entry that does not match its own checksum, or
that a crash cut short, counts as absent and is written again. What is kept is the very text that
is printed, so a hit copies it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from corehop_symbolizer import FORMAT_VERSION
from corehop_symbolizer.image import Image
from corehop_symbolizer.replace import write_beside

TABLES = (".symtab", ".dynsym", ".eh_frame")


def directory() -> Path:
    """Give the folder of this format version's entries."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The base directory specification has relative paths ignored.
    base = Path(named) if named.startswith("/") else Path.home() / ".cache"
    return base / "corehop" / "symbols" / f"v{FORMAT_VERSION}"


def key(image: Image, debug: Image | None) -> str:
    """Give the name under which the file's functions are kept."""
    names = "" if debug is None else f"-{sizes(debug, TABLES[:1])}"
    if not image.build_id:
        with open(image.path, "rb") as stream:  # noqa: PTH123 (as `opened` does)
            return f"sha256-{hashlib.file_digest(stream, 'sha256').hexdigest()}{names}"
    return f"{image.build_id}-{sizes(image, TABLES)}{names}"


def sizes(image: Image, tables: Iterable[str]) -> str:
    """Give the sizes of some sections."""
    sections = (image.elf.get_section_by_name(name) for name in tables)
    return "-".join(f"{section['sh_size'] if section else 0:x}" for section in sections)


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
