"""The corehop program: its version, and its bundled machines, which corehop-lab lists."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from corehop_fleet.errors import MissingError

BUILD_ONE = "start `corehop-lab fleet` itself, or name the program with --corehop"


@dataclass(frozen=True)
class Program:
    """A corehop program."""

    path: str
    version: str
    # The text of each machine's file, by name.
    machines: dict[str, str]


def examined(name: str) -> Program:
    """Query the program of this name or path for its version and machines."""
    path = shutil.which(name)
    if path is None:
        raise MissingError(name, "there is no such program", BUILD_ONE)
    path = str(Path(path).resolve())
    version = said(path, "--version").strip()
    # Both programs are built into one folder.
    lab = Path(path).with_name("corehop-lab")
    machines = json.loads(said(str(lab if lab.exists() else path), "fleet", "--list-machines"))
    return Program(path, version, machines)


def said(path: str, *arguments: str) -> str:
    """Return the output of the program."""
    try:
        ended = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise MissingError(path, f"cannot be run: {error.strerror}", BUILD_ONE) from error
    if ended.returncode != 0:
        raise MissingError(path, f"does not know {' '.join(arguments)}", "build this version's")
    return ended.stdout
