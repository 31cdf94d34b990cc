"""memcached's tests: Perl programs that start a server, talk to it, and print TAP.

They call a debug build of the server, of which one test needs more than Debian's program has (a
clock that can be moved): that one fails on the original too. An option that only the debug build
knows is taken out of the tests; it would let a server with fewer privileges do more.
"""

from __future__ import annotations

from pathlib import Path

from demo.processes import Command, Keeper, Streams
from upstream.placing import place_link
from upstream.tap import read_tap
from upstream.verdict import Outcome

ONLY_DEBUG = " -o relaxed_privileges"


class Memcached:
    """A unit is one of t/*.t."""

    name = "memcached"
    program = Path("/usr/bin/memcached")
    short: tuple[str, ...] = ("t/binary-get.t", "t/getset.t", "t/stats.t", "t/lru.t")

    def __init__(self, source: Path) -> None:
        """Work in memcached's source package."""
        self.source = source

    def prepare(self, keeper: Keeper) -> None:
        """Compile the tests' own stopwatch, and make the tests ask for what Debian's server has."""
        timed = self.source / "timedrun"
        compiler: Command = ["cc", "-O2", "-o", timed, timed.with_suffix(".c")]
        keeper.run(compiler, Streams("memcached-timedrun"), seconds=60)
        for path in [*self.source.glob("t/*.t"), *self.source.glob("t/lib/*.pm")]:
            text = path.read_bytes()
            if ONLY_DEBUG.encode() in text:
                path.write_bytes(text.replace(ONLY_DEBUG.encode(), b""))

    def place(self, server: Path) -> None:
        """Put this server where the tests look for one."""
        for name in ("memcached", "memcached-debug"):
            place_link(self.source / name, server)

    def units(self, keeper: Keeper) -> list[str]:
        """Find the tests."""
        return sorted(str(path.relative_to(self.source)) for path in self.source.glob("t/*.t"))

    def command(self, unit: str) -> Command:
        """Run one test program."""
        return ["perl", unit]

    def read(self, printed: str) -> Outcome:
        """It is TAP."""
        return read_tap(printed)
