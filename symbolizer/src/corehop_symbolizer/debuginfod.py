"""Debug files from debuginfod: from its cache and its servers.

The cache, its layout and the variables are those of elfutils (debuginfod(7),
debuginfod_find_debuginfo(3)), so files fetched by GDB or perf are not fetched again, and the
reverse. Servers are used only if DEBUGINFOD_URLS names some, as in elfutils. If no server has the
file, an empty one is stored in the cache, which is valid for ten minutes. An unreachable server
only costs names.
"""

from __future__ import annotations

import contextlib
import os
import time
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
    """Return the debug file of a build, from the cache or the servers."""
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
    """Return the cache folder shared by debuginfod's clients."""
    if named := os.environ.get("DEBUGINFOD_CACHE_PATH", ""):
        return Path(named)
    home = Path.home()
    if (former := home / ".debuginfod_client_cache").is_dir():
        return former
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else home / ".cache") / "debuginfod_client"


def fetched(build_id: str, kept: Path) -> Path | None:
    """Query the servers one after the other, and store the first file found."""
    servers = os.environ.get("DEBUGINFOD_URLS", "").split()
    # The variable may contain words for elfutils only, e.g. `ima:enforcing`.
    servers = [server for server in servers if server.startswith(("http://", "https://"))]
    if not servers:
        return None
    # Importing these takes a tenth of the time for a cached file. Most systems name no server.
    import urllib.error  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    absent = True
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
    """Write a file to the cache, atomically."""
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_beside(kept, contents)


def parts(answer: IO[bytes]) -> Iterator[bytes]:
    """Yield the parts of a server's response."""
    most = number("DEBUGINFOD_MAXSIZE") or float("inf")
    size = 0
    while part := answer.read(PART_BYTES):
        size += len(part)
        if size > most:
            raise TooLargeError
        yield part


def patience_seconds() -> float:
    """Return how long a server may be silent, in seconds."""
    return number("DEBUGINFOD_TIMEOUT") or PATIENCE_SECONDS


def number(variable: str) -> float:
    """Return the number in a variable; 0 if it is not a whole number."""
    text = os.environ.get(variable, "")
    return float(text) if text.isascii() and text.isdigit() else 0.0
