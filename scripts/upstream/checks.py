"""One suite from its first unit to its last, each on the original and on patched programs."""

from __future__ import annotations

import sys
from pathlib import Path

from demo.processes import Keeper
from upstream.plans import Patcher
from upstream.runs import ORIGINAL, Runner
from upstream.settings import COUNT, SHORT, SettingError, Settings
from upstream.suites import SUITES, Suite
from upstream.table import Row
from upstream.verdict import Judged, judge


class Check:
    """A suite and its server, original and patched."""

    def __init__(self, name: str, checkout: Path, keeper: Keeper, settings: Settings) -> None:
        """Work in the suite's folder, into which scripts/upstream.sh has unpacked its source."""
        scratch = checkout / "scratch" / "upstream" / name
        self.settings = settings
        self.suite: Suite = SUITES[name](scratch / "source")
        self.suite.prepare(keeper)
        self.runner = Runner(self.suite, scratch, keeper, settings)
        self.patcher = Patcher(checkout / "target" / "debug" / "corehop", keeper)
        self.everything = self.patcher.plan_of_all(self.suite.program)
        self.patched = scratch / "everything" / self.suite.program.name
        self.moving = scratch / "moving" / self.suite.program.name
        for server in (self.patched, self.moving):
            server.parent.mkdir(exist_ok=True)
        self.patcher.patch(self.everything, self.patched)
        self.rows = {backend: Row(name, backend) for backend in (ORIGINAL, *settings.backends)}
        self.known = self.suite.units(keeper)
        self.units = chosen(self.suite, self.known, settings.units)

    def run(self) -> None:
        """Run all units, each on every program."""
        for number, unit in enumerate(self.units, 1):
            print(f"upstream: {number}/{len(self.units)} {unit}", file=sys.stderr)
            fails = self.judge(unit, ORIGINAL, self.suite.program, 0, frozenset()).failed
            hooks = self.everything.hooks
            counted = self.judge(unit, COUNT, self.patched, len(hooks), fails)
            plan = self.everything.without_the_busiest(counted.hops.calls, self.settings.calls)
            self.patcher.patch(plan, self.moving)
            for backend in self.settings.backends[1:]:
                self.judge(unit, backend, self.moving, len(plan.hooks), fails)

    def judge(
        self, unit: str, backend: str, server: Path, hooks: int, excused: frozenset[str]
    ) -> Judged:
        """Run a unit on one program as often as necessary, and store the result in its row."""
        row = self.rows[backend]
        judged = judge(
            lambda: self.runner.run(unit, server, backend), self.settings.attempts, excused
        )
        row.units[unit] = judged
        row.hooks.append(hooks)
        row.seconds = self.runner.spent.get(backend, 0)
        for test in sorted(judged.failed):
            log = self.runner.log(unit, backend)
            print(f"upstream: {unit}, {backend}: failed: {test}; see {log}", file=sys.stderr)
        return judged


def chosen(suite: Suite, known: list[str], wanted: tuple[str, ...]) -> list[str]:
    """Return the selected units of a suite, in its own order."""
    if not wanted:
        return known
    names = {name for one in wanted for name in (suite.short if one == SHORT else (one,))}
    return [unit for unit in known if unit in names]


def refuse_unknown(checks: list[Check], wanted: tuple[str, ...]) -> None:
    """Fail if a selected unit is in no suite."""
    known = {unit for check in checks for unit in check.known} | {SHORT}
    if unknown := [unit for unit in wanted if unit not in known]:
        raise SettingError(f"UPSTREAM_UNITS: {', '.join(unknown)}: no suite has such a unit")
