"""memcached's tests: Perl programs that start a server, talk to it, and print TAP.

They call a debug build of the server, of which one test needs more than Debian's program has (a
clock that can be moved): that one fails on the original too. An option that only the debug build
knows is taken out of the tests; it would let a server with fewer privileges do more.
"""

from __future__ import annotations

import re
from pathlib import Path

from demo.processes import Command, Keeper, Streams
from upstream.placing import place_link
from upstream.verdict import UNFINISHED, Outcome

ONLY_DEBUG = " -o relaxed_privileges"
PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
RESULT = re.compile(r"^(not )?ok\b *(\d*)(.*)$", re.MULTILINE)
TODO = re.compile(r"# *todo\b", re.IGNORECASE)


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
        """Hold what was run against what was planned; 1..0 plans nothing and says why."""
        results = RESULT.findall(printed)
        bad = [number + said for no, number, said in results if no and not TODO.search(said)]
        failed = set(bad)
        planned = PLAN.search(printed)
        if planned is None or int(planned[1]) != len(results):
            failed.add(UNFINISHED)
        return Outcome(len(results) - len(bad), frozenset(failed))
