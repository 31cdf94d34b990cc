"""Runs the whole suite repeatedly, to find flaky tests.

By default, every second run is under load.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from dataclasses import dataclass

from suite.beside import TESTS
from suite.counts import Counts
from suite.load import Load
from suite.processes import KEPT, Processes
from suite.run import Suite

HALF, BUSY, IDLE = "half", "load", "idle"
HEAD = f"{'run':>4}  {'beside':<6}  {'passed':>6}  {'failed':>6}  {'skipped':>7}  failed tests"


@dataclass(frozen=True)
class Run:
    """One of the runs."""

    number: int
    beside: str
    counts: Counts

    def __str__(self) -> str:
        """Return its row of the table."""
        counts = self.counts
        numbers = f"{counts.passed:>6}  {len(counts.failed):>6}  {counts.skipped:>7}"
        return f"{self.number:>4}  {self.beside:<6}  {numbers}  {', '.join(counts.failed)}".rstrip()


def beside(number: int, mode: str) -> str:
    """Return whether this run has a load; in mode `half`, every second run has one."""
    if mode == HALF:
        return BUSY if number % 2 == 0 else IDLE
    return mode


def as_json(runs: list[Run]) -> str:
    """Return the runs on one line of JSON, and how often each test failed."""
    rows = [
        {
            "run": run.number,
            "beside": run.beside,
            "passed": run.counts.passed,
            "failed": run.counts.failed,
            "skipped": run.counts.skipped,
        }
        for run in runs
    ]
    failures = Counter(name for run in runs for name in run.counts.failed)
    return json.dumps({"runs": rows, "failures": dict(failures.most_common())})


def again(processes: Processes, suite: Suite, times: int, mode: str) -> bool:
    """Run the suite `times` times, and print a row for each run; return whether all passed."""
    print(HEAD, flush=True)
    runs = []
    for number in range(1, times + 1):
        kind = beside(number, mode)
        with Load() if kind == BUSY else contextlib.nullcontext():
            counts, _ = suite.run(processes, TESTS, KEPT / f"again-{number}.log")
        runs.append(Run(number, kind, counts))
        print(runs[-1], flush=True)
    print(as_json(runs))
    return not any(run.counts.failed for run in runs)
