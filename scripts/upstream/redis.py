"""Redis's tests: Tcl programs that start servers on 127.0.0.1 and send them commands."""

from __future__ import annotations

import contextlib
import re
import socket
from pathlib import Path

from demo.layout import StepError
from demo.processes import Command, Keeper, Streams
from upstream.placing import place_link
from upstream.verdict import UNFINISHED, Outcome

BESIDE = ("redis-cli", "redis-benchmark", "redis-check-aof", "redis-check-rdb")
"""Programs that tests call, from Debian's redis-tools."""

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
RESULT = re.compile(r"^\[(ok|err|exception)\]: (.*)$", re.MULTILINE)
TIMING = re.compile(r" \(\d+ ms\)$")
END = "The End"
FIRST_PORT, PORTS, RANGES = 21111, 500, 16
CLIENTS_BELOW = 32
"""The suite itself listens so far below its servers' first port."""

TESTS = Path("tests/test_helper.tcl")


class Redis:
    """`--durable` continues after a failed test, `--no-latency` omits time measurements."""

    name = "redis"
    program = Path("/usr/bin/redis-server")
    short: tuple[str, ...] = ("unit/type/list", "unit/multi", "integration/aof")

    def __init__(self, source: Path) -> None:
        """Work in Redis's source package."""
        self.source = source

    def prepare(self, keeper: Keeper) -> None:
        """Link Debian's other programs next to the server."""
        for name in BESIDE:
            place_link(self.source / "src" / name, self.program.with_name(name))

    def place(self, server: Path) -> None:
        """Link this server to the path that the tests use."""
        place_link(self.source / "src/redis-server", server)

    def units(self, keeper: Keeper) -> list[str]:
        """Query the suite."""
        command: Command = ["tclsh", self.source / TESTS, "--list-tests"]
        inside: Command = ["env", "-C", self.source, *command]
        return keeper.run(inside, Streams("redis-units"), seconds=60).split()

    def command(self, unit: str) -> Command:
        """Run one unit with one client; nothing else runs at the same time."""
        ports = ["--baseport", str(free_ports()), "--portcount", str(PORTS)]
        options = ["--clients", "1", "--durable", "--no-latency", "--single", unit]
        return ["tclsh", TESTS, *ports, *options]

    def read(self, printed: str) -> Outcome:
        """Parse `[ok]` and `[err]`; the first line of a failure names the test and its file."""
        text = COLOURS.sub("", printed)
        found = RESULT.findall(text)
        failed = {TIMING.sub("", name) for kind, name in found if kind != "ok"}
        if END not in text:
            failed.add(UNFINISHED)
        return Outcome(sum(kind == "ok" for kind, _ in found), frozenset(failed))


def free_ports() -> int:
    """Return the first port of a range in which no other run of the suite listens.

    The suite itself searches for free ports, and ends if another run is faster.
    """
    for first in range(FIRST_PORT, FIRST_PORT + PORTS * RANGES, PORTS):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", first - CLIENTS_BELOW))
            return first
    raise StepError(f"another program listens on each of ports {FIRST_PORT - CLIENTS_BELOW} ...")
