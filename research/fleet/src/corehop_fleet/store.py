"""The folder of results: a file for each completed task, named by the hash of its inputs.

    tasks/3f/3f9c....json   what one search found
    traces.json             hashes of traces, with the versions that their stores reported
    results.parquet         all of it as a table
    index.html              the page

Each file is written under a temporary name and renamed, so that a killed run leaves no incomplete
file. The content of a file depends only on its name, so two runs may share a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corehop_fleet.errors import OutputError
from corehop_fleet.machines import Machine
from corehop_fleet.sweep import Options

# Changes with the format of a task's file.
FORMAT = 1
READABLE = 0o644
REMEDY = "name another folder with --output, or make room there"


@dataclass(frozen=True)
class Task:
    """One search of the sweep."""

    server: str
    trace: str
    trace_sha256: str
    machine: Machine
    cores: int
    objective: str

    @property
    def is_possible(self) -> bool:
        """Return whether the machine has this number of cores."""
        return self.cores <= self.machine.cores

    def key(self, options: Options, version: str) -> str:
        """Return the hash of all inputs of the result."""
        about = {
            "format": FORMAT,
            "corehop": version,
            "trace": self.trace_sha256,
            "machine": self.machine.sha256,
            "cores": self.cores,
            "objective": self.objective,
            "options": options,
        }
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        """Create the folder."""
        self.folder = folder
        try:
            (folder / "tasks").mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            problem = f"cannot be written to: {error.strerror}"
            raise OutputError(str(folder), problem, REMEDY) from error
        self.hashes = self.read(folder / "traces.json") or {}

    def path(self, key: str) -> Path:
        """Return the path of a task's file."""
        return self.folder / "tasks" / key[:2] / f"{key}.json"

    def result(self, key: str) -> dict[str, Any] | None:
        """Return the result of a task; None if it is not done, or its file is damaged."""
        kept = self.read(self.path(key))
        return kept if kept is not None and kept.get("key") == key else None

    def keep(self, key: str, result: dict[str, Any]) -> dict[str, Any]:
        """Save the result of a task."""
        kept = {"key": key, **result}
        self.write(self.path(key), json.dumps(kept).encode())
        return kept

    def hash_of(self, url: str, version: str) -> str | None:
        """Return the remembered hash of a trace, if the trace is unchanged."""
        remembered = self.hashes.get(url, {})
        is_same = bool(version) and remembered.get("version") == version
        return str(remembered["sha256"]) if is_same else None

    def remember(self, url: str, version: str, sha256: str) -> None:
        """Remember a trace's hash."""
        self.hashes[url] = {"version": version, "sha256": sha256}
        self.write(self.folder / "traces.json", json.dumps(self.hashes, indent=1).encode())

    def write(self, path: Path, content: bytes) -> None:
        """Write a file atomically."""

        def fill(beside: Path) -> None:
            beside.write_bytes(content)

        self.replace(path, fill)

    def replace(self, path: Path, fill: Callable[[Path], None]) -> None:
        """Let `fill` write a temporary file, and rename it."""
        try:
            path.parent.mkdir(exist_ok=True)
            number, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
            os.close(number)
            beside = Path(name)
            try:
                fill(beside)
                beside.chmod(READABLE & ~umask())
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        except OSError as error:
            problem = f"cannot be written: {error.strerror or error}"
            raise OutputError(str(path), problem, REMEDY) from error

    @staticmethod
    def read(path: Path) -> dict[str, Any] | None:
        """Return the content of a JSON file."""
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None


def umask() -> int:
    """Return the mask of permissions for new files; reading it requires setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
