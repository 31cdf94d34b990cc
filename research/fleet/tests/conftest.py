"""A folder with a sweep, the command as users run it, and a stand-in for the corehop program."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from corehop_fleet import table

STAND_IN = Path(__file__).with_name("stand_in.py")
SWEEP = """\
machines = ["bundled"]
cores = [2, 4]

[traces]
one = "one.trace"
two = ["two.trace"]
"""
# large with 2 and 4 cores, small with 2, for each of two traces; small has no 4.
SEARCHES = 6
LONGEST_SECONDS = 120


@dataclass
class Workplace:
    """A folder in which sweeps run."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    @property
    def program(self) -> Path:
        """The path of the stand-in."""
        return self.folder / "corehop"

    @property
    def hold(self) -> Path:
        """Searches wait while this file exists."""
        return self.folder / "hold"

    def searches(self) -> list[str]:
        """Return the requests to the stand-in."""
        log = self.folder / "log"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start the command on the sweep."""
        command = [sys.executable, "-m", "corehop_fleet", "sweep.toml"]
        if "--corehop" not in options:
            command += ["--corehop", str(self.program)]
        return subprocess.Popen(
            [*command, *options],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *options: str) -> tuple[int, str]:
        """Run the command; return its exit code and its messages."""
        with self.start(*options) as process:
            said = process.communicate(timeout=LONGEST_SECONDS)[1]
        return process.returncode, said

    def rows(self, folder: str = "sweep.results") -> list[dict[str, Any]]:
        """Return the table without the columns that depend on the workers."""
        rows = table.read(self.folder / folder / "results.parquet")
        for row in rows:
            row.pop("search_seconds")
        return rows

    def wait(self, until: Callable[[], object]) -> None:
        """Wait until the condition is true."""
        for _ in range(LONGEST_SECONDS * 20):
            if until():
                return
            time.sleep(0.05)  # waits: between looks
        pytest.fail("it has not come to it")


@pytest.fixture
def workplace(tmp_path: Path) -> Iterator[Workplace]:
    """A folder with a sweep of six searches, and two with too many cores."""
    place = Workplace(tmp_path)
    place.write("sweep.toml", SWEEP)
    place.write("one.trace", "one")
    place.write("two.trace", "two")
    place.write("corehop", f'#!/bin/sh\nexec {sys.executable} -B -S {STAND_IN} "$@"\n')
    place.program.chmod(0o755)
    place.environment = {
        "STAND_IN_LOG": str(tmp_path / "log"),
        "STAND_IN_HOLD": str(place.hold),
        "COREHOP_FLEET_CACHE": str(tmp_path / "cache"),
    }
    yield place
    # Waiting searches may end.
    place.hold.unlink(missing_ok=True)
