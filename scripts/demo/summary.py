"""What the demo found: one page for people, one JSON file for programs, and a verdict."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from corehop_symbolizer.demangle import demangle
from demo.layout import Layout, StepError
from demo.stages import MACHINE, Facts

LEVELS = {
    "L1I": ("l1i", "misses"),
    "L1D": ("l1d", "misses"),
    "L2": ("l2", "misses"),
    "  of fetches": ("l2", "fetch_misses"),
    "  of data": ("l2", "data_misses"),
    "L3": ("l3", "misses"),
}

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
    facts: Facts
    idle: Facts

    def hops(self) -> int:
        """Give the hops of the transactions: those of starting and stopping are the idle run's."""
        return int(self.facts["statistics"]["hops"] - self.idle["statistics"]["hops"])


@dataclass(frozen=True)
class Report:
    """Everything there is to say."""

    layout: Layout
    reference: Facts
    recorded: Facts
    partitions: dict[int, Facts]
    predictions: dict[int, Facts]
    runs: list[PatchedRun]

    @property
    def requests(self) -> int:
        """Requests of every run: the statements, and the good-bye at the end."""
        return int(self.reference["load"]["requests"])

    def unequal_tables(self) -> list[str]:
        """Name the runs and tables that differ from the unpatched run."""
        others = {"recorded": self.recorded}
        others |= {f"{run.backend} on {run.cores} cores": run.facts for run in self.runs}
        return [
            f"{name}: {table}"
            for name, facts in others.items()
            for table, contents in self.reference["tables"].items()
            if facts["tables"].get(table) != contents
        ]

    def deviation(self, run: PatchedRun) -> float:
        """Give how far the counted hops are off the predicted ones, as a share."""
        predicted = int(self.predictions[run.cores]["hops"])
        return abs(run.hops() - predicted) / max(predicted, 1)

    def lines(self) -> list[str]:
        """Give the page for people."""
        load = self.reference["load"]
        done = load["committed"] + load["rolled_back"]
        result = [
            "",
            f"TPC-C on MariaDB: {done} transactions, {self.requests} requests on one connection",
            f"simulated machine: {MACHINE}; requests not searched, half of the trace as warm-up",
        ]
        for cores, found in self.partitions.items():
            result += ["", *misses(cores, found)]
        result += ["", *self.hop_lines(), "", self.checksum_line()]
        return result

    def hop_lines(self) -> list[str]:
        """Compare counted hops with predicted ones."""
        result = ["hops                  predicted  counted  a request"]
        for run in self.runs:
            name = f"  {run.cores} cores, {run.backend}"
            predicted, counted = self.predictions[run.cores]["hops"], run.hops()
            verdict = "agrees" if self.deviation(run) <= TOLERANCE else "DIFFERS"
            each = counted / self.requests
            result.append(f"{name:<22}{predicted:>9}{counted:>9}{each:>11.2f}  {verdict}")
        moved = {run.cores for run in self.runs if run.backend == "affinity"}
        for cores in self.partitions.keys() - moved:
            result.append(f"  {cores} cores, affinity: left out, this machine has fewer CPUs")
        return result

    def checksum_line(self) -> str:
        """Say whether all runs left the same tables."""
        unequal = self.unequal_tables()
        if unequal:
            return "checksums DIFFER from the unpatched run: " + ", ".join(unequal)
        tables, runs = len(self.reference["tables"]), len(self.runs)
        return f"checksums: {tables} tables, equal unpatched, recorded and in {runs} patched runs"

    def places(self) -> list[str]:
        """Say where everything lies."""
        short = self.layout.short
        named = {"trace": self.layout.trace}
        for cores in self.partitions:
            named[f"plan, {cores} cores"] = self.layout.plan(cores)
            named[f"mariadbd, {cores} cores"] = self.layout.patched(cores)
        named["report"] = self.layout.scratch / "report.txt"
        named["report, HTML"] = self.layout.page
        named["report, JSON"] = self.layout.scratch / "report.json"
        return [f"{name:<20}{short(path)}" for name, path in named.items()]

    def contents(self) -> dict[str, Any]:
        """Give everything for programs."""
        return {
            "unpatched": self.reference,
            "recorded": self.recorded,
            "partitions": self.partitions,
            "predictions": self.predictions,
            "patched": [
                {
                    "cores": run.cores,
                    "backend": run.backend,
                    "hops": run.hops(),
                    "facts": run.facts,
                    "idle": run.idle,
                }
                for run in self.runs
            ],
            "unequal_tables": self.unequal_tables(),
        }

    def judge(self) -> None:
        """Fail where the patched server did not do what it should."""
        if self.unequal_tables():
            raise StepError("the patched server left other tables than the unpatched one")
        if any(self.deviation(run) > TOLERANCE for run in self.runs):
            raise StepError("the patched server hopped more or less often than the plan predicts")


@dataclass(frozen=True)
class Summary:
    """MariaDB's misses, counted, and redis's speed, measured."""

    mariadb: Report
    redis: Facts

    def lines(self) -> list[str]:
        """Give the page for people."""
        return [*self.mariadb.lines(), "", *speed(self.redis), "", *self.mariadb.places()]

    def write(self) -> None:
        """Print the page, and keep everything as JSON."""
        place = self.mariadb.layout.scratch / "report.json"
        contents = {**self.mariadb.contents(), "redis": self.redis}
        place.write_text(json.dumps(contents, indent=1) + "\n")
        page = "\n".join(self.lines())
        place.with_suffix(".txt").write_text(page + "\n")
        print(page)

    def judge(self) -> None:
        """Fail where a patched server did not do what it should."""
        self.mariadb.judge()


def speed(found: Facts) -> list[str]:
    """Say what `corehop optimize` found for redis."""
    head = "Redis, deep pages of two sorted sets, measured on this machine"
    if not found["gain"]:
        return [head, f"  nothing pays here: {found['why_not']}"]
    best = found["tried"][found["best"]]
    predicted = best["predicted"]
    low, high = found["interval"]
    return [
        head,
        f"  {found['ratio']:.2f} ({low:.2f} to {high:.2f}, {100 * found['confidence']:.0f} %"
        f" confidence) times as fast on {best['cores']} cores",
        f"  predicted {100 * (predicted['l2_misses_ratio'] - 1):+.1f} % L2 misses,"
        f" {predicted['hops_per_request']:.1f} hops a request",
        *(f"  core {f['core']} from {f['symbol']}" for f in best["functions"]),
        f"  to start it so: {found['command']}",
    ]


def misses(cores: int, found: Facts) -> list[str]:
    """Give the table of misses for one split."""
    held_out = found["held_out"]
    requests = max(held_out["requests"], 1)
    result = [f"misses per request       one core{cores:>6} cores    change"]
    for name, (level, key) in LEVELS.items():
        before = held_out["baseline"][level][key] / requests
        after = held_out["split"][level][key] / requests
        change = f"{100 * (after / before - 1):+9.1f} %" if before else ""
        result.append(f"  {name:<20}{before:>11.1f}{after:>12.1f}{change}")
    for function in found["plan"]:
        name = demangle(function["symbol"]).partition("(")[0]
        result.append(f"  core {function['core']} from {name}")
    return result
