"""The traces of a sweep: files and URLs that fsspec opens, and the detection of changes.

A task's key contains the hash of its trace's content. Hashing a remote trace requires fetching it,
so the hash is remembered together with the version that its store reports. The hash is valid while
the version stays the same. If a store reports only a length, the trace is fetched again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import fsspec
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from corehop_fleet.errors import FleetError, InputError, MissingError

# Names of a file's version in file systems: local ones, S3, Google's, Azure's, HTTP, memory.
VERSIONS = (
    "mtime",
    "ino",
    "ETag",
    "etag",
    "VersionId",
    "LastModified",
    "last_modified",
    "generation",
    "md5Hash",
    "content_md5",
    "updated",
    "created",
)


@dataclass(frozen=True)
class Trace:
    """One trace of a server."""

    server: str
    # A URL, or a local file's absolute path.
    url: str
    # The version that its store reports; empty if that is not sufficient.
    version: str

    @property
    def name(self) -> str:
        """Return the last part of its path."""
        return Path(self.url).name


def found(server: str, place: str, sweep: Path) -> list[Trace]:
    """Return the traces at a path in the sweep's file, which may be a pattern."""
    where = f"{sweep}: traces.{server}"
    try:
        system, path = fsspec.core.url_to_fs(at(place, sweep))
        is_pattern = any(character in place for character in "*?[")
        paths = sorted(system.glob(path)) if is_pattern else [path]
        traces = [trace_at(server, system, one) for one in paths]
    except ImportError as error:
        remedy = "install that beside Dask, here and on the workers"
        raise MissingError(where, f"{place}: {error}", remedy) from error
    except FileNotFoundError as error:
        problem = f"there is no trace {place}"
        raise InputError(where, problem, "correct the path; `corehop record` makes one") from error
    except FleetError:
        raise
    except Exception as error:
        problem = f"{place} cannot be looked at: {type(error).__name__}: {error}"
        remedy = "correct the address, or what fsspec needs to reach it (research/fleet.md)"
        raise InputError(where, problem, remedy) from error
    if not traces:
        raise InputError(where, f"nothing fits {place}", "correct the pattern")
    return traces


def at(place: str, sweep: Path) -> str:
    """Resolve a relative path from the sweep's folder."""
    if "://" in place or "::" in place:
        return place
    return str((sweep.parent / place).absolute())


def trace_at(server: str, system: AbstractFileSystem, path: str) -> Trace:
    """Return the trace at a path of a file system."""
    about = system.info(path)
    is_local = isinstance(system, LocalFileSystem)
    url = path if is_local else system.unstrip_protocol(path)
    if about.get("type") == "directory":
        raise FileNotFoundError(url)
    told = {key: str(about[key]) for key in VERSIONS if about.get(key) is not None}
    if not told:
        return Trace(server, url, "")
    told["size"] = str(about.get("size"))
    return Trace(server, url, json.dumps(told, sort_keys=True))
