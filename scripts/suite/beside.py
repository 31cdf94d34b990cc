"""Programs that run parallel to nextest, in sequence: doc tests, Python's tests, and checks.

Tests of servers wait a quarter of the time, which these programs use.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.counts import Counts, of_doc_tests, of_junit, together
from suite.linted import BUILD, linted
from suite.processes import KEPT, ROOT, Processes

PYTEST = [sys.executable, "-B", "-m", "pytest", "-q"]
SYMBOLIZER = ROOT / "symbolizer"
FLEET = ROOT / "research/fleet"


@dataclass(frozen=True)
class Step:
    """A program to run, and how to count its tests; a check has none."""

    name: str
    command: Sequence[str]
    folder: Path = ROOT
    # Whether it runs cargo on the files built by clippy's compiler (linted.py).
    builds: bool = False
    count: Callable[[Path, int], Counts] | None = None

    @property
    def log(self) -> Path:
        """Return the path of its log."""
        return KEPT / f"{self.name.replace(' ', '-')}.log"


def of_log(log: Path, code: int) -> Counts:
    """Count doc tests; a crate whose doc tests cannot be built counts as failed."""
    counts = of_doc_tests(log.read_text(errors="replace"))
    if code != 0 and not counts.failed:
        counts.failed.append("doc tests")
    return counts


def of_one(name: str) -> Callable[[Path, int], Counts]:
    """Count a program as one test."""
    return lambda _, code: Counts(failed=[name]) if code else Counts(passed=1)


def pytest(name: str, folder: Path, *tests: str) -> Step:
    """Run the Python tests of a folder."""
    report = KEPT / f"{name}.xml"

    def count(_: Path, code: int) -> Counts:
        counts = of_junit(report) if report.exists() else Counts()
        if code != 0 and not counts.failed:
            counts.failed.append(f"pytest of {name}")
        return counts

    command = [*PYTEST, f"--junitxml={report}", *tests]
    return Step(f"pytest of {name}", command, folder, count=count)


CHECKS = [
    Step("clippy of the benches", [*BUILD, "--benches"], builds=True),
    Step("ruff and mypy", ["make", "--no-print-directory", "lint-python"]),
    Step("words", ["make", "--no-print-directory", "lint-words"]),
]
TESTS = [
    Step(
        "doc tests",
        ["cargo", "test", "--workspace", "--locked", "--no-fail-fast", "--doc"],
        builds=True,
        count=of_log,
    ),
    Step(
        "bench",
        ["cargo", "test", "--workspace", "--locked", "--bench", "hop"],
        builds=True,
        count=of_one("bench hop"),
    ),
    pytest("symbolizer", SYMBOLIZER, "tests", "../scripts/tests"),
    pytest("fleet", FLEET, "tests"),
]


class Beside(threading.Thread):
    """Runs these steps during other work."""

    def __init__(self, processes: Processes, steps: Sequence[Step]) -> None:
        """Create it without starting anything."""
        super().__init__(name="beside")
        self.processes = processes
        self.steps = steps
        self.counted: list[Counts] = []
        # The steps that failed.
        self.wrong: list[Step] = []

    def run(self) -> None:
        """Run the steps, and continue after a failure."""
        for step in self.steps:
            for report in KEPT.glob(f"{step.name.removeprefix('pytest of ')}.xml"):
                report.unlink()
            more = linted() if step.builds else {"PYTHONPATH": "../scripts"}
            code = self.processes.run(step.command, log=step.log, folder=step.folder, more=more)
            if self.processes.is_ending:
                return
            if code != 0:
                self.wrong.append(step)
            if step.count:
                self.counted.append(step.count(step.log, code))

    def counts(self) -> Counts:
        """Wait for all steps, and sum up their tests."""
        self.join()
        return together(self.counted)
