"""The results of the demo: one page for people, and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from corehop_json import system_calls
from corehop_json.counters import Counters
from corehop_json.optimize import Optimized, Predicted, Tried
from corehop_json.partition import Partitioned
from corehop_json.plan import PlannedFunction
from corehop_json.replay import Replayed
from corehop_symbolizer.demangle import demangle
from demo.layout import MACHINE, Layout, StepError
from demo.stages import Run

TOLERANCE = 0.02
"""How far counted hops may be off the predicted ones.

The connection's thread repeats itself exactly; InnoDB's own threads call planned functions too,
and how often depends on the clock.
"""


@dataclass(frozen=True)
class PatchedRun:
    """A run of the patched server, and one of the same server without transactions."""

    cores: int
    backend: str
    run: Run
    idle: Run

    def hops(self) -> int:
        """Return the hops of the transactions, without those of start and stop in the idle run."""
        return self.run.hops() - self.idle.hops()


@dataclass
class Report:
    """MariaDB: its misses, and what the patched server did, as far as it is known."""

    layout: Layout
    reference: Run
    recorded: Run | None = None
    partitions: dict[int, Partitioned] = field(default_factory=dict)
    predictions: dict[int, Replayed] = field(default_factory=dict)
    runs: list[PatchedRun] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)
    """Plans of more cores than this machine has CPUs: threads do not move in their runs."""

    @property
    def requests(self) -> int:
        """Requests of every run: the statements, and the disconnect at the end."""
        return self.reference.load.requests if self.reference.load else 0

    def unequal_tables(self) -> list[str]:
        """Return the runs and tables that differ from the unpatched run."""
        others = {"recorded": self.recorded} if self.recorded else {}
        others |= {f"{run.backend} on {run.cores} cores": run.run for run in self.runs}
        return [
            f"{name}: {table}"
            for name, run in others.items()
            for table, contents in self.reference.tables.items()
            if run.tables.get(table) != contents
        ]

    def deviation(self, run: PatchedRun) -> float:
        """Return the relative difference between counted and predicted hops."""
        predicted = self.predictions[run.cores].hops
        return abs(run.hops() - predicted) / max(predicted, 1)

    def lines(self) -> list[str]:
        """Return the page for people."""
        load = self.reference.load
        done = load.committed + load.rolled_back if load else 0
        result = [
            "",
            f"TPC-C on MariaDB: {done} transactions, {self.requests} requests on one connection",
            f"simulated machine: {MACHINE}; requests not searched, half of the trace as warm-up",
        ]
        for cores, found in self.partitions.items():
            result += ["", *misses(cores, found)]
        if self.runs:
            result += ["", *self.hop_lines(), "", self.checksum_line()]
        return result

    def hop_lines(self) -> list[str]:
        """Compare counted hops with predicted ones."""
        result = ["hops                  predicted  counted  a request"]
        for run in self.runs:
            name = f"  {run.cores} cores, {run.backend}"
            predicted, counted = self.predictions[run.cores].hops, run.hops()
            verdict = "agrees" if self.deviation(run) <= TOLERANCE else "DIFFERS"
            each = counted / max(self.requests, 1)
            result.append(f"{name:<22}{predicted:>9}{counted:>9}{each:>11.2f}  {verdict}")
        return result + [
            f"  {cores} cores, affinity: left out, this machine has fewer CPUs"
            for cores in self.left_out
        ]

    def checksum_line(self) -> str:
        """Report whether all runs left the same tables."""
        unequal = self.unequal_tables()
        if unequal:
            return "checksums DIFFER from the unpatched run: " + ", ".join(unequal)
        tables, runs = len(self.reference.tables), len(self.runs)
        return f"checksums: {tables} tables, equal unpatched, recorded and in {runs} patched runs"

    def judge(self) -> None:
        """Fail if the patched server did not behave as required."""
        if self.unequal_tables():
            raise StepError("the patched server left other tables than the unpatched one")
        if any(self.deviation(run) > TOLERANCE for run in self.runs):
            raise StepError("the patched server hopped more or less often than the plan predicts")


def places(layout: Layout, cores: list[int]) -> list[str]:
    """Return the paths of all results."""
    named = {"trace": layout.trace}
    for number in cores:
        named[f"plan, {number} cores"] = layout.plan(number)
        named[f"mariadbd, {number} cores"] = layout.patched(number)
    named["report"] = layout.scratch / "report.txt"
    named["report, HTML"] = layout.page
    named["report, JSON"] = layout.scratch / "report.json"
    return ["", *(f"{name:<20}{layout.short(path)}" for name, path in named.items())]


def speed(found: Optimized, load: str) -> list[str]:
    """Return the lines about redis under this load from `corehop optimize`."""
    head = ["", f"Redis, {load}, measured on this machine"]
    best = found.pays()
    if best is None or found.ratio is None or found.interval is None:
        return [*head, f"  no speedup found: {found.why_not}"]
    low, high = found.interval
    result = [
        *head,
        f"  {found.ratio:.2f} ({low:.2f} to {high:.2f}, {100 * found.confidence:.0f} %"
        f" confidence) times as fast{on_cores(best)}",
    ]
    if found.groups:
        groups = " and ".join(f"{of.runs} at {of.ratio:.2f}" for of in found.groups)
        result.append(f"  starts differ: {groups} times the original's speed")
    if best.predicted:
        result.append(
            f"  predicted {expected(best.predicted)}"
            f"{100 * (best.predicted.l2_misses_ratio - 1):+.1f} % L2 misses,"
            f" {best.predicted.hops_per_request:.1f} hops a request"
        )
    result += [f"  {described(function)}" for function in best.functions or []]
    if best.system_calls:
        result.append(f"  {system_calls.described(best.system_calls)}")
    return [*result, f"  to start it so: {found.command}"]


def expected(predicted: Predicted) -> str:
    """Describe the expected speedup, if timed replays told it."""
    if predicted.speedup is None:
        return ""
    of = predicted.speedup
    return f"its own code {of.median:.2f} ({of.low:.2f} to {of.high:.2f}) times as fast, "


def on_cores(best: Tried) -> str:
    """Return the number of cores; system calls without a plan have none."""
    return f" on {best.cores} cores" if best.cores else ""


def described(function: PlannedFunction) -> str:
    """Describe where a thread migrates, with the function's name without its parameters."""
    return function.described(demangle(function.symbol).partition("(")[0])


COUNTS: dict[str, Callable[[Counters], int]] = {
    "L1I": lambda of: of.l1i.misses,
    "L1D": lambda of: of.l1d.misses,
    "L2": lambda of: of.l2.misses,
    "  of fetches": lambda of: of.l2.fetch_misses,
    "  of data": lambda of: of.l2.data_misses,
    "L3": lambda of: of.l3.misses,
}


def misses(cores: int, found: Partitioned) -> list[str]:
    """Return the table of misses for one split."""
    judged = found.judged()
    requests = max(judged.requests, 1)
    result = [f"misses per request       one core{cores:>6} cores    change"]
    for name, count in COUNTS.items():
        before = count(judged.baseline) / requests
        after = count(judged.split) / requests
        change = f"{100 * (after / before - 1):+9.1f} %" if before else ""
        result.append(f"  {name:<20}{before:>11.1f}{after:>12.1f}{change}")
    result += [f"  {described(function)}" for function in found.plan]
    return result
