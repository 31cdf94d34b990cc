"""Debug files from debuginfod: those it has fetched before, and those its servers have.

The cache, its layout and the variables are elfutils' (debuginfod(7),
debuginfod_find_debuginfo(3)), so what GDB or perf has fetched is not fetched again, and the other
way around. Servers are asked only where DEBUGINFOD_URLS names some, as there. A server that does
not have the file leaves an empty one in the cache, which counts for ten minutes. A server that
cannot be reached costs names and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import IO

from corehop_symbolizer.replace import write_beside

ABSENT_FOR_SECONDS = 600
"""How long an empty file stands for "no server has it": elfutils' `cache_miss_s`."""

PATIENCE_SECONDS = 10.0
"""How long a server may be silent, where DEBUGINFOD_TIMEOUT does not say."""

PART_BYTES = 1 << 20


class TooLargeError(OSError):
    """The file is larger than DEBUGINFOD_MAXSIZE."""


def debuginfo(build_id: str) -> Path | None:
    """Give the debug file of a build, from the cache or the servers."""
    try:
        kept = directory() / build_id / "debuginfo"
        status = kept.stat()
    except FileNotFoundError:
        pass
    except (OSError, RuntimeError):
        return None
    else:
        if status.st_size > 0:
            return kept
        if time.time() - status.st_mtime < ABSENT_FOR_SECONDS:
            return None
    return fetched(build_id, kept)


def directory() -> Path:
    """Give the cache that debuginfod's clients share."""
    if named := os.environ.get("DEBUGINFOD_CACHE_PATH", ""):
        return Path(named)
    home = Path.home()
    if (former := home / ".debuginfod_client_cache").is_dir():
        return former
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else home / ".cache") / "debuginfod_client"


def fetched(build_id: str, kept: Path) -> Path | None:
    """Ask the servers in turn, and keep what the first one has."""
    servers = os.environ.get("DEBUGINFOD_URLS", "").split()
    # The variable may hold words for elfutils alone, as `ima:enforcing`.
    servers = [server for server in servers if server.startswith(("http://", "https://"))]
    absent = bool(servers)
    for server in servers:
        address = f"{server.rstrip('/')}/buildid/{build_id}/debuginfo"
        try:
            with urllib.request.urlopen(address, timeout=patience_seconds()) as answer:
                keep(kept, parts(answer))
            return kept
        except urllib.error.HTTPError as error:
            absent = absent and error.code == HTTPStatus.NOT_FOUND
        except (OSError, ValueError):
            absent = False
    if absent:
        with contextlib.suppress(OSError):
            keep(kept, ())
    return None


def keep(kept: Path, contents: Iterator[bytes] | tuple[()]) -> None:
    """Put a file into the cache, whole or not at all."""
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_beside(kept, contents)


def parts(answer: IO[bytes]) -> Iterator[bytes]:
    """Give what a server sends, part by part."""
    most = number("DEBUGINFOD_MAXSIZE") or float("inf")
    size = 0
    while part := answer.read(PART_BYTES):
        size += len(part)
        if size > most:
            raise TooLargeError
        yield part


def patience_seconds() -> float:
    """Give how long a server may be silent."""
    return number("DEBUGINFOD_TIMEOUT") or PATIENCE_SECONDS


def number(variable: str) -> float:
    """Give what a variable says; 0 where it says nothing that is a positive number."""
    text = os.environ.get(variable, "")
    return float(text) if text.isascii() and text.isdigit() else 0.0
