"""Programs that the suite starts; none outlives it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
# Logs and reports of the programs.
KEPT = ROOT / "target/tests"

# The exit code of a program ended by Ctrl-C.
INTERRUPTED = 130


class Processes:
    """The running programs, so that all end with the suite."""

    def __init__(self) -> None:
        """Start with no running programs."""
        self.lock = threading.Lock()
        self.running: list[subprocess.Popen[bytes]] = []
        self.is_ending = False

    def run(
        self,
        command: Sequence[str | Path],
        *,
        log: Path | None = None,
        folder: Path = ROOT,
        more: Mapping[str, str] | None = None,
    ) -> int:
        """Run a program; its output goes to the log, or to the suite's own output."""
        if log is None:
            return self.wait(command, None, folder, more)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            return self.wait(command, file, folder, more)

    def wait(
        self,
        command: Sequence[str | Path],
        file: IO[bytes] | None,
        folder: Path,
        more: Mapping[str, str] | None,
    ) -> int:
        """Start the program unless the suite is ending, and return its exit code."""
        with self.lock:
            if self.is_ending:
                return INTERRUPTED
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(more or {})},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file and subprocess.STDOUT,
                # A Ctrl-C reaches only the suite, which passes it on once.
                process_group=0,
            )
            self.running.append(process)
        code = process.wait()
        with self.lock:
            self.running.remove(process)
        return code

    def end(self) -> None:
        """Interrupt all programs, which clean up after themselves, and start no more."""
        with self.lock:
            self.is_ending = True
            running = list(self.running)
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
        for process in running:
            process.wait()
