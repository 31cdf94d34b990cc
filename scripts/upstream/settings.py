"""The user's settings, by environment variables: which tests, which backends, and time limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from upstream.suites import SUITES

COUNT = "count"
POSTED = {
    "posted": "read,write,readv,writev,recv,recvfrom,recvmsg,send,sendto,sendmsg,sendfile,accept,"
    "accept4,open,close,fstat,pread@1",
    "batched": "read,write,readv,writev,recv,recvfrom,recvmsg,send,sendto,sendmsg,poll,"
    "epoll_wait@batch",
}
"""Carriers beside which system calls are posted, too."""

BACKENDS = (COUNT, "carrier", *POSTED, "auto", "affinity")
SHORT = "short"
PREFIX = "UPSTREAM_"


class SettingError(Exception):
    """An invalid variable; the message names it and its valid values."""


@dataclass(frozen=True)
class Settings:
    """The defaults run everything."""

    suites: tuple[str, ...] = tuple(SUITES)
    backends: tuple[str, ...] = BACKENDS
    """Always with `count`: what it counts decides what the others hook."""

    units: tuple[str, ...] = ()
    """Units by name, or `short` for some of each suite; all where none is named."""

    calls: int = 200_000
    """How many calls of hooked functions a unit may make where hooks move threads."""

    attempts: int = 3
    """How often a unit is run that fails: many upstream tests wait for so long and no longer."""

    unit_seconds: int = 600
    seconds: int = 7200
    """For all units of a suite on one program; those that have had no turn then have failed."""


def read(environment: Mapping[str, str]) -> Settings:
    """Return the settings in the variables."""
    known = {PREFIX + field.name.upper(): field.name for field in fields(Settings)}
    given = {name: text for name, text in environment.items() if name.startswith(PREFIX) and text}
    for name in given.keys() - known.keys():
        raise SettingError(f"{name}: unknown; known are {', '.join(known)}")
    suites = chosen(given, "SUITES", tuple(SUITES))
    backends = (COUNT, *(b for b in chosen(given, "BACKENDS", BACKENDS) if b != COUNT))
    units = tuple(given.get(f"{PREFIX}UNITS", "").replace(",", " ").split())
    numbers = {
        field.name: number(name, given[name])
        for name, field in ((PREFIX + field.name.upper(), field) for field in fields(Settings))
        if field.type == "int" and name in given
    }
    return Settings(suites, backends, units, **numbers)


def chosen(given: Mapping[str, str], name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that a variable lists, which are all known."""
    listed = tuple(given.get(PREFIX + name, " ".join(known)).replace(",", " ").split())
    if unknown := [one for one in listed if one not in known]:
        said = f"{PREFIX}{name}: {', '.join(unknown)}: unknown; known are {', '.join(known)}"
        raise SettingError(said)
    return listed


def number(name: str, text: str) -> int:
    """Return a number that is not 0."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SettingError(f"{name}: {text!r} is no whole number above 0")
    return int(text)
