"""memcached's tests: Perl programs that start a server, send it commands, and print TAP.

They call a debug build of the server. One test needs a feature that Debian's program lacks (a clock
that can be set), so it also fails on the original. An option of the debug build only is removed
from the tests; it would give more permissions to a server with fewer privileges.
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
        """Compile the tests' own stopwatch, and limit the tests to features of Debian's server."""
        timed = self.source / "timedrun"
        compiler: Command = ["cc", "-O2", "-o", timed, timed.with_suffix(".c")]
        keeper.run(compiler, Streams("memcached-timedrun"), seconds=60)
        for path in [*self.source.glob("t/*.t"), *self.source.glob("t/lib/*.pm")]:
            text = path.read_bytes()
            if ONLY_DEBUG.encode() in text:
                path.write_bytes(text.replace(ONLY_DEBUG.encode(), b""))

    def place(self, server: Path) -> None:
        """Link this server to the path that the tests use."""
        for name in ("memcached", "memcached-debug"):
            place_link(self.source / name, server)

    def units(self, keeper: Keeper) -> list[str]:
        """Return the tests."""
        return sorted(str(path.relative_to(self.source)) for path in self.source.glob("t/*.t"))

    def command(self, unit: str) -> Command:
        """Run one test program."""
        return ["perl", unit]

    def read(self, printed: str) -> Outcome:
        """Parse the TAP output."""
        return read_tap(printed)
