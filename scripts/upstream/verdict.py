"""The result of a unit's run, and which failures count against the patched program.

Upstream tests have time limits, so a unit that fails is run again, alone: a test fails if it fails
in every run. A test that also fails on the original is not the patch's fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

UNFINISHED = "(it did not run to its end)"
LATE = "(it was ended, having run for too long)"
NOT_RUN = "(it was not run: the time for its suite was over)"
CUT_SHORT = frozenset([UNFINISHED, LATE, NOT_RUN])


@dataclass(frozen=True)
class Outcome:
    """One run of a unit: the number of passed tests, and the failed ones."""

    passed: int
    failed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Hops:
    """The runtime's counts, over all processes of a run that ended on their own."""

    hops: int = 0
    failed: int = 0
    calls: Mapping[int, int] = field(default_factory=dict)
    """By the function's offset."""

    backends: frozenset[str] = frozenset()
    posted: int = 0
    """System calls."""

    refusals: frozenset[str] = frozenset()
    """Reasons for which carriers refused a process, and left it to affinity or without hops."""

    def __add__(self, other: Hops) -> Hops:
        """Return the sum of both counts."""
        calls = {
            offset: self.calls.get(offset, 0) + other.calls.get(offset, 0)
            for offset in self.calls.keys() | other.calls.keys()
        }
        backends = self.backends | other.backends
        posted = self.posted + other.posted
        refusals = self.refusals | other.refusals
        failed = self.failed + other.failed
        return Hops(self.hops + other.hops, failed, calls, backends, posted, refusals)


@dataclass(frozen=True)
class Judged:
    """All runs of a unit on one program; the last one passed, or all failed."""

    outcomes: tuple[Outcome, ...]
    excused: frozenset[str] = frozenset()
    """What fails on the original."""

    hops: Hops = Hops()
    """Of all runs."""

    @property
    def passed(self) -> int:
        """Tests that passed in the last run."""
        return self.outcomes[-1].passed

    @property
    def failed(self) -> frozenset[str]:
        """Tests that failed here but not on the original: in every run, or else in the last.

        A unit whose runs fail in different tests has no run that proves it correct.
        """
        if any(outcome.failed <= self.excused for outcome in self.outcomes):
            return frozenset()
        always = frozenset.intersection(*(outcome.failed for outcome in self.outcomes))
        return (always - self.excused) or (self.outcomes[-1].failed - self.excused)

    @property
    def failed_there_too(self) -> frozenset[str]:
        """Tests that also fail on the original."""
        return self.outcomes[-1].failed & self.excused

    @property
    def is_cut_short(self) -> bool:
        """Whether the last run ended early, so that it shows nothing about the remaining tests."""
        return bool(self.outcomes[-1].failed & CUT_SHORT)

    @property
    def is_passed(self) -> bool:
        """Whether every test ran, and all failures are excused."""
        return not self.failed and not self.is_cut_short

    @property
    def again(self) -> frozenset[str]:
        """Tests that failed in an earlier run of a unit that then passed."""
        earlier = frozenset[str]().union(*(outcome.failed for outcome in self.outcomes[:-1]))
        return earlier - self.excused if self.is_passed else frozenset()


def judge(
    run: Callable[[], tuple[Outcome, Hops]], attempts: int, excused: frozenset[str] = frozenset()
) -> Judged:
    """Run a unit until all failures are excused, at most `attempts` times."""
    outcomes: list[Outcome] = []
    hops = Hops()
    while len(outcomes) < attempts:
        outcome, counted = run()
        outcomes.append(outcome)
        hops += counted
        if outcome.failed <= excused or NOT_RUN in outcome.failed:
            break
    return Judged(tuple(outcomes), excused, hops)
