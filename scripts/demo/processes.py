"""All processes of the demo, so that none outlives it.

Each leads a separate process group: a Ctrl-C reaches only the demo, which then ends the others in
order. If the demo itself is killed, the kernel sends them SIGTERM.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from demo.layout import StepError

PR_SET_PDEATHSIG = 1
GRACE_SECONDS = 30
NOTHING = Path(os.devnull)

LIBC = ctypes.CDLL(None, use_errno=True)

Command = Sequence[str | Path]


@dataclass(frozen=True)
class Streams:
    """The input of a process, and whether its messages go to the log or to the terminal."""

    log: str
    quiet: bool = True
    given: Path = NOTHING


def die_with_parent() -> None:
    """Let the kernel send SIGTERM when the demo ends (prctl(2))."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Keeper:
    """Starts processes and ensures that they end."""

    def __init__(self, logs: Path) -> None:
        """Write the output of processes into the folder `logs`."""
        self.logs = logs
        self.running: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        """Enter without any running process."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """End the running processes, immediately if the user insists."""
        for process in reversed(self.running[:]):
            try:
                self.stop(process)
            except KeyboardInterrupt:
                self.kill(process)

    def start(
        self,
        command: Command,
        streams: Streams,
        *,
        environment: Mapping[str, str] | None = None,
        output: int | None = None,
    ) -> subprocess.Popen[str]:
        """Start a process; its output goes to `output`, or to the log."""
        with (self.logs / streams.log).open("a") as messages, streams.given.open() as given:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=given,
                stdout=messages if output is None else output,
                stderr=messages if streams.quiet else None,
                env={**os.environ, **(environment or {})},
                text=True,
                process_group=0,
                preexec_fn=die_with_parent,  # noqa: PLW1509 (the demo has one thread)
            )
        self.running.append(process)
        return process

    def run(
        self, command: Command, streams: Streams, *, seconds: float, fine: Sequence[int] = (0,)
    ) -> str:
        """Run a command to its end, check that its exit code is `fine`, and return its output."""
        name, log = Path(command[0]).name, self.logs / streams.log
        process = self.start(command, streams, output=subprocess.PIPE)
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.stop(process)
            late = f"{name} did not end within {seconds:.0f} s; see {log}"
            raise StepError(late) from None
        self.running.remove(process)
        if process.returncode not in fine:
            where = f"see {log}" if streams.quiet else "its message is above"
            raise StepError(f"{name} failed with exit code {process.returncode}; {where}")
        return printed

    def stop(self, process: subprocess.Popen[str]) -> int:
        """Send SIGTERM to a process, wait for it, and kill the processes that it leaves."""
        if process.poll() is None:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=GRACE_SECONDS)
        code = self.kill(process)
        if process in self.running:
            self.running.remove(process)
        return code

    def kill(self, process: subprocess.Popen[str]) -> int:
        """Kill a process and its children, without any cleanup."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()
