"""CPython's own tests, on Debian's interpreter: `python3 -m test` of its package of tests.

The interpreter that runs the tests is the program under test. So is every process that the tests
start with `sys.executable`: subprocesses, process pools, and intentional crashes.
"""

from __future__ import annotations

import re
from pathlib import Path

from demo.processes import Command, Keeper
from upstream.placing import place_link
from upstream.verdict import UNFINISHED, Outcome

PROCESSES = (
    "signal",
    "threading",
    "threadsignals",
    "thread",
    "subprocess",
    "socket",
    "asyncio",
    "os",
    "posix",
    "fork1",
    "wait3",
    "wait4",
    "popen",
    "pty",
    "select",
    "poll",
    "epoll",
    "selectors",
    "ioctl",
    "fcntl",
    "mmap",
    "queue",
    "contextlib",
    "faulthandler",
    "concurrent_futures",
    "multiprocessing_fork",
    "multiprocessing_forkserver",
    "multiprocessing_spawn",
    "multiprocessing_main_handling",
    "eintr",
    "ctypes",
    "generators",
    "exceptions",
    "gc",
)
"""What has to do with processes, threads, signals and waiting, and some plain computing."""

LEFT_OUT = ("--ignore", "*VSOCK*")
"""Sockets to the machine below a virtual one, which may never answer."""

FAILURE = re.compile(r"^(?:FAIL|ERROR): (.+)$", re.MULTILINE)
RAN = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
BAD = re.compile(r"^FAILED \((.*)\)$", re.MULTILINE)
COUNTED = re.compile(r"(failures|errors)=(\d+)")
END = re.compile(r"^(?:Tests result|Result): ", re.MULTILINE)


class Python:
    """A unit is one module of the tests."""

    name = "python"
    program = Path("/usr/bin/python3").resolve()
    short: tuple[str, ...] = ("test_thread", "test_threadsignals", "test_fork1", "test_wait3")

    def __init__(self, source: Path) -> None:
        """Work in a separate folder."""
        self.source = source
        self.interpreter = source / "bin" / self.program.name

    def prepare(self, keeper: Keeper) -> None:
        """Create folders for the interpreter and the output of the tests."""
        for folder in (self.interpreter.parent, self.source / "temporary"):
            folder.mkdir(parents=True, exist_ok=True)

    def place(self, server: Path) -> None:
        """Link this interpreter to the path that starts the tests."""
        place_link(self.interpreter, server)

    def units(self, keeper: Keeper) -> list[str]:
        """Return the selected modules."""
        return [f"test_{name}" for name in PROCESSES]

    def command(self, unit: str) -> Command:
        """Run one module."""
        temporary: Command = ["--tempdir", self.source / "temporary"]
        return [self.interpreter, "-m", "test", "--verbose", *LEFT_OUT, *temporary, unit]

    def read(self, printed: str) -> Outcome:
        """Count the tests, and return the failed ones; both are below the tests' own output."""
        failed = set(FAILURE.findall(printed))
        ran = sum(int(number) for number in RAN.findall(printed))
        bad = sum(
            int(number) for line in BAD.findall(printed) for _, number in COUNTED.findall(line)
        )
        if not END.search(printed):
            failed.add(UNFINISHED)
        return Outcome(max(ran - bad, 0), frozenset(failed))
