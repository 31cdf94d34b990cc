"""stress-ng's stressors, which check their own results (`--verify`), on Debian's program.

Each makes heavy use of one kernel feature: signals, threads, forks, mappings, waits. A stressor is
bounded by its work, not by time, so that slower hooks do not reduce its work. The time is only an
upper bound.
"""

from __future__ import annotations

import re
from pathlib import Path

from demo.processes import Command, Keeper
from upstream.placing import place_link
from upstream.verdict import UNFINISHED, Outcome

STRESSORS: dict[str, int] = {
    "affinity": 500,
    "aio": 500,
    "alarm": 20,
    "cap": 200,
    "clock": 100,
    "clone": 20,
    "context": 2000,
    "cpu": 20,
    "daemon": 50,
    "dnotify": 20,
    "dup": 100,
    "epoll": 200,
    "eventfd": 2000,
    "fault": 500,
    "fcntl": 500,
    "fifo": 2000,
    "flock": 500,
    "fork": 500,
    "futex": 2000,
    "get": 50,
    "hdd": 500,
    "inotify": 20,
    "io": 50,
    "iomix": 200,
    "itimer": 500,
    "kill": 500,
    "longjmp": 20000,
    "malloc": 5000,
    "mcontend": 100,
    "membarrier": 50,
    "mergesort": 2,
    "mmap": 20,
    "mq": 2000,
    "msg": 2000,
    "mutex": 5000,
    "nanosleep": 100,
    "nice": 50,
    "null": 2000,
    "personality": 100,
    "pidfd": 200,
    "pipe": 5000,
    "poll": 500,
    "prctl": 50,
    "procfs": 20,
    "pthread": 100,
    "ptrace": 100,
    "qsort": 2,
    "resched": 20,
    "resources": 5,
    "schedpolicy": 200,
    "seccomp": 50,
    "sem-sysv": 2000,
    "sendfile": 200,
    "session": 50,
    "set": 50,
    "shm": 5,
    "sigabrt": 100,
    "sigchld": 200,
    "sigfd": 500,
    "sigfpe": 500,
    "sigio": 50,
    "signal": 500,
    "signest": 200,
    "sigpending": 500,
    "sigpipe": 100,
    "sigq": 500,
    "sigrt": 500,
    "sigsegv": 200,
    "sigsuspend": 500,
    "sigtrap": 500,
    "sleep": 50,
    "sock": 100,
    "sockfd": 200,
    "sockpair": 200,
    "spawn": 100,
    "splice": 200,
    "stack": 20,
    "stackmmap": 5,
    "switch": 2000,
    "sysinfo": 100,
    "tee": 200,
    "timer": 500,
    "timerfd": 100,
    "tsc": 100,
    "tun": 5,
    "udp": 200,
    "userfaultfd": 20,
    "utime": 100,
    "vecmath": 20,
    "vfork": 200,
    "vm": 200,
    "vm-rw": 20,
    "vm-splice": 200,
    "wait": 200,
    "yield": 5000,
    "zombie": 100,
}
"""Each with how much of it is done. Those that wait until their time is over are left out."""

BYTES = ("vm", "mmap", "malloc", "hdd", "iomix", "shm", "vm-rw", "stackmmap")
SECONDS = 20
STARTED = re.compile(r"dispatching hogs: (\d+)")
FAULT = re.compile(r"stress-ng: (?:fail|error): +\[\d+\] (.*)$", re.MULTILINE)
NUMBER = re.compile(r"\b(?:0x[0-9a-f]+|\d+)\b")
END = re.compile(r"\b(unsuccessful|successful) run completed in")


class StressNg:
    """A unit is one stressor, with two instances at once."""

    name = "stress-ng"
    program = Path("/usr/bin/stress-ng")
    short: tuple[str, ...] = ("signal", "sigq", "pthread", "futex", "fork", "sigsegv", "affinity")

    def __init__(self, source: Path) -> None:
        """Work in a separate folder."""
        self.source = source
        self.place_of_program = source / self.program.name

    def prepare(self, keeper: Keeper) -> None:
        """Create the folder for its output."""
        self.source.mkdir(parents=True, exist_ok=True)

    def place(self, server: Path) -> None:
        """Link this program to the path at which it is started."""
        place_link(self.place_of_program, server)

    def units(self, keeper: Keeper) -> list[str]:
        """Return the selected stressors."""
        return list(STRESSORS)

    def command(self, unit: str) -> Command:
        """Run two instances of one stressor."""
        many = [f"--{unit}-ops", str(STRESSORS[unit])]
        small = [f"--{unit}-bytes", "16m"] if unit in BYTES else []
        bound = ["--timeout", str(SECONDS), "--temp-path", str(self.source)]
        options = ["--verify", *bound, f"--{unit}", "2", *many, *small]
        return ["sh", "-c", 'exec "$@" 2>&1', "sh", self.place_of_program, *options]

    def read(self, printed: str) -> Outcome:
        """Count the stressors; a fault is its message without numbers."""
        failed = {NUMBER.sub("N", said) for said in FAULT.findall(printed)}
        ended = END.search(printed)
        if ended is None:
            failed.add(UNFINISHED)
        elif ended[1] == "unsuccessful":
            failed.add("unsuccessful run")
        started = STARTED.search(printed)
        return Outcome(int(started[1]) if started and not failed else 0, frozenset(failed))
