"""The sweep's file: traces, machines, cores, objectives, and options of the search.

machines = ["bundled", "machines/ours.toml"]
cores = [2, 4]
objectives = ["l2", "cycles"]

[traces]
mariadb = "mariadb.trace"
redis = ["s3://traces/redis/*.trace"]

[options]
requests = 20
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corehop_fleet.errors import InputError
from corehop_fleet.machines import Machine, machines_of

OBJECTIVES = ("l2", "l1", "l3", "fetch", "data", "cycles", "throughput")
KEYS = ("machines", "cores", "objectives", "traces", "options")
PAGE = "research/fleet.md says what the file holds"
FEWEST_CORES = 2

# Options of `corehop partition` that a sweep may set, and the types of their values. Options are
# excluded if their result depends on time, or on files of one machine only.
OPTIONS: dict[str, type | tuple[str, ...]] = {
    "backend": ("carrier", "affinity"),
    "connections": int,
    "draws": int,
    "group_within": int,
    "max_calls": int,
    "min_share": float,
    "repeat_connections": bool,
    "requests": int,
    "returns": ("never", "tell", "auto"),
    "seed": int,
    "strategy": ("auto", "exhaustive", "bound", "local", "random"),
}

Options = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Sweep:
    """The content of a sweep's file."""

    path: Path
    # The server and the path of its trace, which may be a pattern.
    traces: list[tuple[str, str]]
    machines: list[Machine]
    cores: list[int]
    objectives: list[str]
    options: Options


def read(path: Path, bundled: dict[str, str]) -> Sweep:
    """Read a sweep's file; `bundled` are the machines of the program."""
    try:
        text = path.read_bytes().decode("utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        remedy = f"name a sweep's file; {PAGE}"
        raise InputError(str(path), f"cannot be read: {error.strerror}", remedy) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(str(path), f"is no TOML: {error}", "correct it there") from error
    reader = Reader(path)
    reader.known(content, KEYS, "")
    return Sweep(
        path=path,
        traces=reader.traces(content.get("traces")),
        machines=reader.machines(content.get("machines"), bundled),
        cores=reader.cores(content.get("cores")),
        objectives=reader.objectives(content.get("objectives", ["l2"])),
        options=reader.options(content.get("options", {})),
    )


class Reader:
    """Parses the file's values, and names the place of each error."""

    def __init__(self, path: Path) -> None:
        """Read for this file."""
        self.path = path

    def wrong(self, key: str, problem: str, remedy: str) -> InputError:
        """Return the error at a key."""
        return InputError(f"{self.path}: {key}", problem, f"{remedy}; {PAGE}")

    def known(self, table: dict[str, Any], keys: Iterable[str], within: str) -> None:
        """Refuse an unknown key."""
        keys = list(keys)
        for key in table:
            if key in keys:
                continue
            near = difflib.get_close_matches(key, keys, n=1)
            remedy = f"write {near[0]}" if near else f"known are {', '.join(keys)}"
            raise self.wrong(f"{within}{key}", "there is no such key", remedy)

    def strings(self, key: str, value: object, example: str) -> list[str]:
        """Return a non-empty list of texts, without repetitions."""
        names = value if isinstance(value, list) else []
        if not names or not all(isinstance(name, str) and name for name in names):
            raise self.wrong(key, "is no list of names", f"write {example}")
        return list(dict.fromkeys(names))

    def traces(self, value: object) -> list[tuple[str, str]]:
        """Return servers and their traces."""
        example = 'write mariadb = "mariadb.trace" under [traces]'
        if not isinstance(value, dict) or not value:
            raise self.wrong("traces", "no server is named", example)
        found = []
        for server, places in value.items():
            listed = [places] if isinstance(places, str) else places
            key = f"traces.{server}"
            found += [(server, place) for place in self.strings(key, listed, "a path, or several")]
        return found

    def machines(self, value: object, bundled: dict[str, str]) -> list[Machine]:
        """Return machines by name or file."""
        names = self.strings("machines", value, 'machines = ["bundled"]')
        return machines_of(names, bundled, self.path)

    def cores(self, value: object) -> list[int]:
        """Return numbers of cores."""
        numbers = value if isinstance(value, list) else []
        if not numbers or not all(type(one) is int and one >= FEWEST_CORES for one in numbers):
            remedy = "write cores = [2, 4]"
            raise self.wrong("cores", "is no list of numbers from 2 up", remedy)
        return list(dict.fromkeys(numbers))

    def objectives(self, value: object) -> list[str]:
        """Return the objectives to minimize."""
        names = self.strings("objectives", value, 'objectives = ["l2"]')
        for name in names:
            if name not in OBJECTIVES:
                remedy = f"known are {', '.join(OBJECTIVES)}"
                raise self.wrong("objectives", f"there is no objective {name}", remedy)
        return names

    def options(self, value: object) -> Options:
        """Return options of the search, ordered by name."""
        if not isinstance(value, dict):
            raise self.wrong("options", "is no table", "write requests = 20 under [options]")
        self.known(value, OPTIONS, "options.")
        for key, given in value.items():
            kind = OPTIONS[key]
            if isinstance(kind, tuple):
                fits, wanted = given in kind, f"one of {', '.join(kind)}"
            elif kind is float:
                fits, wanted = type(given) in (int, float), "a number"
            else:
                fits = type(given) is kind
                wanted = "true or false" if kind is bool else "a whole number"
            if not fits:
                raise self.wrong(f"options.{key}", f"{given!r} does not fit", f"write {wanted}")
        return dict(sorted(value.items()))


def as_arguments(options: Options) -> list[str]:
    """Return the options as arguments of `corehop partition`."""
    arguments: list[str] = []
    for key, value in options.items():
        name = f"--{key.replace('_', '-')}"
        if value is True:
            arguments.append(name)
        elif value is not False:
            arguments += [name, str(value)]
    return arguments
