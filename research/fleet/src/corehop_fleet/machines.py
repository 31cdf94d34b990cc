"""The machines of a sweep: bundled with the program, or described by a file, which is sent along.

`host` is refused: it would be another machine on every worker, and results would not show which.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from corehop_fleet.errors import InputError

BUNDLED = "bundled"
PAGE = "docs/reference/machines.md says what such a file holds"


@dataclass(frozen=True)
class Machine:
    """A machine to simulate."""

    # The name in the sweep's file.
    named: str
    # The name in the machine's description.
    name: str
    cores: int
    # The text of its file; None if the program knows it by name.
    text: str | None
    sha256: str


def machines_of(names: list[str], bundled: dict[str, str], sweep: Path) -> list[Machine]:
    """Return the machines of these names; relative files start at the sweep's folder."""
    found: dict[str, Machine] = {}
    for name in names:
        known = list(bundled) if name == BUNDLED else [name]
        for one in known:
            machine = machine_of(one, bundled, sweep)
            other = found.setdefault(machine.name, machine)
            if other.sha256 != machine.sha256:
                problem = f"two machines are called {machine.name}: {other.named} and {one}"
                raise InputError(f"{sweep}: machines", problem, "give one another name")
    return list(found.values())


def machine_of(name: str, bundled: dict[str, str], sweep: Path) -> Machine:
    """Return the machine of this name."""
    place = f"{sweep}: machines"
    if name == "host":
        remedy = "describe it in a file; docs/reference/machines.md says how"
        raise InputError(place, "host is another machine on every worker", remedy)
    if name in bundled:
        return described(name, bundled[name], name, is_file=False)
    path = sweep.parent / name
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        remedy = f"name a file, {BUNDLED} for all that come with corehop, or one of these: "
        problem = f"there is no machine {name}: {error.strerror}"
        raise InputError(place, problem, remedy + ", ".join(bundled)) from error
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"is no text: {error}", PAGE) from error
    return described(name, text, str(path), is_file=True)


def described(named: str, text: str, place: str, *, is_file: bool) -> Machine:
    """Return the machine that a file describes; the program checks its other content."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(place, f"is no TOML: {error}", f"correct it there; {PAGE}") from error
    name, cores = content.get("name"), content.get("cores")
    if not isinstance(name, str) or type(cores) is not int:
        raise InputError(place, "has no name or no number of cores", f"add both; {PAGE}")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Machine(named, name, cores, text if is_file else None, digest)
