"""One run of the whole suite: most tests in parallel, then those that need the CPUs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.beside import Beside, Step
from suite.counts import Counts, together
from suite.needs import NEEDS, Need
from suite.nextest import Built, all_of, forget_earlier_runs, of_need, settings
from suite.processes import Processes

# nextest's profiles: for all tests, and for tests that must run alone.
ALL, ALONE = "default", "alone"


@dataclass(frozen=True)
class Skipped:
    """Skipped tests, and what they lack."""

    need: Need
    missing: str
    tests: list[str]

    def __str__(self) -> str:
        """Return the reason and the remedy."""
        module, remedy = self.need.module, self.need.remedy
        return f"skipped {len(self.tests)} of {module}: {self.missing}\n  remedy: {remedy}"


class Suite:
    """The built tests, and which of them can run here."""

    def __init__(self, built: Built, needs: Sequence[Need] = NEEDS) -> None:
        """Check all requirements once."""
        self.built = built
        missing = [(need, what) for need in needs if (what := need.missing())]
        self.skipped = [Skipped(need, what, built.tests(of_need(need))) for need, what in missing]
        present = [f"not {of_need(of.need)}" for of in self.skipped]
        alone = settings()[ALONE]["default-filter"]
        self.expressions = {
            ALL: all_of([f"not ({alone})", *present]),
            ALONE: all_of([alone, *present]),
        }
        self.expected = {of: built.tests(what) for of, what in self.expressions.items()}
        self.ignored = built.tests("all()", "only")

    def run_profile(self, processes: Processes, profile: str, log: Path | None) -> Counts:
        """Run the tests of one profile. A test without a report counts as failed."""
        expected = len(self.expected[profile])
        if not expected:
            return Counts()
        log = log and log.with_name(f"{log.stem}-{profile}{log.suffix}")
        counts = self.built.run(processes, profile, self.expressions[profile], log)
        missing = expected - counts.passed - counts.skipped - len(counts.failed)
        if missing > 0:
            counts.failed.append(f"{missing} tests that did not run")
        return counts

    def run(
        self, processes: Processes, steps: Sequence[Step], log: Path | None = None
    ) -> tuple[Counts, list[Step]]:
        """Run all tests, and these steps in parallel; also return the failed steps."""
        forget_earlier_runs()
        beside = Beside(processes, steps)
        beside.start()
        counts = self.run_profile(processes, ALL, log)
        others = beside.counts()
        alone = self.run_profile(processes, ALONE, log)
        left_out = sum(len(of.tests) for of in self.skipped) + len(self.ignored)
        return together([counts, others, alone, Counts(skipped=left_out)]), beside.wrong
