"""What the check needs to know of a suite, and which suites there are."""

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
    """One file of this folder for each, which names its class in `SUITES` below."""

    name: str
    source: Path
    program: Path
    """Debian's, which is tested as it is and patched."""

    short: tuple[str, ...]
    """Units that take seconds."""

    def __init__(self, source: Path) -> None:
        """Work in the source package, as `dpkg-source` leaves it."""

    def prepare(self, keeper: Keeper) -> None:
        """Make what the tests need beside the server."""

    def place(self, server: Path) -> None:
        """Put this server where the tests look for one."""

    def units(self, keeper: Keeper) -> list[str]:
        """Name all units, in the suite's own order."""

    def command(self, unit: str) -> Command:
        """Give the command that runs a unit, in the source package."""

    def read(self, printed: str) -> Outcome:
        """Find the tests in what it printed."""


SUITES: dict[str, type[Suite]] = {
    "redis": Redis,
    "memcached": Memcached,
    "python": Python,
    "stress-ng": StressNg,
    "perl": Perl,
    "glibc": Glibc,
    "postgres": Postgres,
}
