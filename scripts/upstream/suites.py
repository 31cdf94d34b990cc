"""The interface of a suite, and the list of suites."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from demo.processes import Command, Keeper
from upstream.glibc import Glibc
from upstream.memcached import Memcached
from upstream.perl import Perl
from upstream.postgres import Postgres
from upstream.python import Python
from upstream.redis import Redis
from upstream.stress_ng import StressNg
from upstream.verdict import Outcome


class Suite(Protocol):
    """One file of this folder implements each suite, with its class in `SUITES` below."""

    name: str
    source: Path
    program: Path
    """Debian's, which is tested as it is and patched."""

    short: tuple[str, ...]
    """Units that take seconds."""

    def __init__(self, source: Path) -> None:
        """Work in the source package, as unpacked by `dpkg-source`."""

    def prepare(self, keeper: Keeper) -> None:
        """Create what the tests need in addition to the server."""

    def place(self, server: Path) -> None:
        """Link this server to the path that the tests use."""

    def units(self, keeper: Keeper) -> list[str]:
        """Return the names of all units, in the suite's own order."""

    def command(self, unit: str) -> Command:
        """Return the command that runs a unit, in the source package."""

    def read(self, printed: str) -> Outcome:
        """Parse the tests in the output."""


SUITES: dict[str, type[Suite]] = {
    "redis": Redis,
    "memcached": Memcached,
    "python": Python,
    "stress-ng": StressNg,
    "perl": Perl,
    "glibc": Glibc,
    "postgres": Postgres,
}
