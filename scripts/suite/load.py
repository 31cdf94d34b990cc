"""A busy machine: two programs that compute, and one that waits for the disk.

They end with the suite in any case: if the suite is killed, the kernel kills them (prctl(2)).
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import tempfile
from types import TracebackType
from typing import Self

PR_SET_PDEATHSIG = 1
COMPUTING = 2
WRITTEN = bytes(1 << 20)
# After this number of writes, the file restarts.
MOST_WRITES = 64


def end_with(parent: int) -> None:
    """End when the suite ends; ignore a Ctrl-C, which the suite handles."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def compute(parent: int) -> None:
    """Use a CPU permanently."""
    end_with(parent)
    while True:
        pass


def write(parent: int) -> None:
    """Write to an unnamed file, and wait each time until the data is on the disk."""
    end_with(parent)
    with tempfile.TemporaryFile(dir="target") as file:
        while True:
            for _ in range(MOST_WRITES):
                file.write(WRITTEN)
                file.flush()
                os.fsync(file.fileno())
            file.seek(0)


class Load:
    """The three programs, which run inside the context."""

    def __enter__(self) -> Self:
        """Start them. They end with the thread that starts them."""
        context = multiprocessing.get_context("fork")
        work = [compute] * COMPUTING + [write]
        self.running = [context.Process(target=of, args=(os.getpid(),), daemon=True) for of in work]
        for process in self.running:
            process.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """End them."""
        for process in self.running:
            process.kill()
        for process in self.running:
            process.join()
