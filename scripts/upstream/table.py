"""The final table, the failures and their logs, and the line with the counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from upstream.runs import ORIGINAL
from upstream.settings import POSTED, Settings
from upstream.verdict import Judged

COLUMNS = ("passed", "failed", "failed there too", "again", "tests", "hooks", "hops", "seconds")
TITLE = 22


@dataclass
class Row:
    """A suite on one program."""

    suite: str
    backend: str
    units: dict[str, Judged] = field(default_factory=dict)
    hooks: list[int] = field(default_factory=list)
    """How many functions were hooked, for each unit."""

    seconds: float = 0

    @property
    def failed(self) -> int:
        """Units with a failure that is not excused."""
        return sum(bool(judged.failed) for judged in self.units.values())

    @property
    def passed(self) -> int:
        """Units that ran to their end; a unit that ends early on the original too shows nothing."""
        return sum(judged.is_passed for judged in self.units.values())

    @property
    def shows_nothing(self) -> bool:
        """Whether it is the original and passes no unit, so patched programs are not compared."""
        return self.backend == ORIGINAL and bool(self.units) and self.passed == 0

    @property
    def hops(self) -> int:
        """Hops of all units, in all their runs."""
        return sum(judged.hops.hops for judged in self.units.values())

    @property
    def idle(self) -> bool:
        """Whether it did not hop although it should have, which proves nothing.

        With `auto` a server hops only in its trials, so its calls count instead.
        """
        if self.backend == ORIGINAL or not self.units:
            return False
        if self.backend == "auto":
            return not any(sum(judged.hops.calls.values()) for judged in self.units.values())
        posted = sum(judged.hops.posted for judged in self.units.values())
        return self.hops == 0 or (self.backend in POSTED and posted == 0)

    def line(self) -> str:
        """Return the row of the table."""
        units = self.units.values()
        hooks = sorted({min(self.hooks), max(self.hooks)}) if self.hooks else [0]
        cells = (
            self.passed,
            self.failed,
            sum(len(judged.failed_there_too) for judged in units),
            sum(len(judged.outcomes) > 1 and judged.is_passed for judged in units),
            sum(judged.passed for judged in units),
            "-".join(str(number) for number in hooks),
            self.hops,
            round(self.seconds),
        )
        return line(f"{self.suite}, {self.backend}", cells)

    def notes(self) -> list[str]:
        """Return the tests behind the figures: failures first, then the rest."""
        kinds: list[tuple[str, Callable[[Judged], Iterable[str]]]] = [
            ("FAILED", lambda judged: judged.failed),
            ("failed there too", lambda judged: judged.failed_there_too),
            ("passed when run again", lambda judged: judged.again),
        ]
        if self.backend == ORIGINAL:
            kinds = [("failed", lambda judged: judged.failed), kinds[2]]
        found = [
            f"{self.suite}, {self.backend}: {unit}: {kind}: {test}"
            for kind, tests in kinds
            for unit, judged in self.units.items()
            for test in sorted(tests(judged))
        ]
        lost = sum(judged.hops.failed for judged in self.units.values())
        if posted := sum(judged.hops.posted for judged in self.units.values()):
            found.append(f"{self.suite}, {self.backend}: {posted} system calls were posted")
        found += [
            f"{self.suite}, {self.backend}: {unit}: carriers refused: {reason}"
            for unit, judged in self.units.items()
            for reason in sorted(judged.hops.refusals)
            if self.backend not in (ORIGINAL, "count", "affinity")
        ]
        if lost:
            found.append(f"{self.suite}, {self.backend}: {lost} hops were asked for and not made")
        if self.shows_nothing:
            found.append(f"{self.suite}, {self.backend}: FAILED: no unit passes on the original")
        if self.idle:
            found.append(
                f"{self.suite}, {self.backend}: FAILED: no server counted a hop or posted a call"
            )
        return found


def line(title: str, cells: Iterable[object]) -> str:
    """Return a row aligned below the column names."""
    pairs = zip(COLUMNS, cells, strict=True)
    return f"{title:<{TITLE}}" + "".join(f"{cell!s:>{width(name)}}" for name, cell in pairs)


def width(name: str) -> int:
    """Return the width for the column's name, and for a figure in the millions."""
    return max(len(name) + 2, 11)


def page(rows: list[Row], settings: Settings) -> tuple[list[str], int]:
    """Return the page, and the failures on patched programs that pass on the original."""
    lines = [
        f"units of each suite's tests, run up to {settings.attempts} times; carrier and affinity"
        f" hook what makes {settings.calls} calls a unit",
        "",
        line("", COLUMNS),
        *(row.line() for row in rows),
        "",
    ]
    notes = [note for row in rows for note in row.notes()]
    patched = [row for row in rows if row.backend != ORIGINAL]
    failed = sum(row.failed + row.idle for row in patched)
    failed += sum(row.shows_nothing for row in rows)
    passed = sum(row.passed for row in patched)
    return [*lines, *notes, *[""] * bool(notes), f"{passed} passed, {failed} failed"], failed
