"""Ends the processes that a unit leaves behind, by process id.

Tests start servers in the background, and some of these leave their process group. The kernel
assigns such orphans to the nearest ancestor that requests them (prctl(2), PR_SET_CHILD_SUBREAPER).
They can then be distinguished from all other servers.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import defaultdict
from pathlib import Path

from demo.processes import LIBC

PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY_SECONDS = 0.01
GRACE_SECONDS = 15
"""A server that was told to end writes its statistics, and some tests do not wait for that."""


def adopt() -> None:
    """Become the parent of all orphans among the descendants."""
    if LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1) != 0:
        raise OSError("prctl: the kernel gives no orphans")


def descendants() -> set[int]:
    """Return the ids of all descendants of this process."""
    children = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name before it may contain anything; the parent is the second field after it.
                after_name = (entry / "stat").read_text(errors="replace").rpartition(")")[2]
                children[int(after_name.split()[1])].append(int(entry.name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        new = [child for child in children[waiting.pop()] if child not in found]
        found.update(new)
        waiting += new
    return found


def end_strays(grace_seconds: float = 0) -> None:
    """End all descendants that do not end within this time; no process may wait for them later."""
    end = time.monotonic() + grace_seconds
    while left := descendants():
        if time.monotonic() >= end:
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(LOOK_EVERY_SECONDS)
