"""Runs one unit on one program, within a time limit, and removes everything that it leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import corehop_json
from corehop_json.statistics import Statistics
from demo.processes import Keeper, Streams
from demo.steps import remove
from upstream.settings import POSTED, Settings
from upstream.strays import GRACE_SECONDS, end_strays
from upstream.suites import Suite
from upstream.verdict import LATE, NOT_RUN, UNFINISHED, Hops, Outcome

ORIGINAL = "original"


@dataclass
class Runner:
    """Runs units of one suite, and records their time."""

    suite: Suite
    scratch: Path
    keeper: Keeper
    settings: Settings
    spent: dict[str, float] = field(default_factory=dict)

    def run(self, unit: str, server: Path, backend: str) -> tuple[Outcome, Hops]:
        """Run a unit once on this server."""
        left = self.settings.seconds - self.spent.get(backend, 0)
        if left <= 0:
            return Outcome(0, frozenset([NOT_RUN])), Hops()
        log = self.log(unit, backend)
        statistics = self.scratch / "statistics"
        remove(statistics)
        statistics.mkdir()
        self.suite.place(server)
        began = time.monotonic()
        try:
            ended = self.finish(unit, log, environment(backend, statistics), left)
        finally:
            end_strays()
            self.spent[backend] = self.spent.get(backend, 0) + time.monotonic() - began
        outcome = self.suite.read(log.read_text(errors="replace"))
        hops = read_statistics(statistics)
        shutil.rmtree(statistics)
        failed = outcome.failed | strange(ended, outcome, hops, backend)
        return Outcome(outcome.passed, failed), hops

    def finish(self, unit: str, log: Path, variables: dict[str, str], seconds: float) -> int | None:
        """Return the exit code; None if the unit had to be killed."""
        command = ["env", "-C", self.suite.source, *self.suite.command(unit)]
        errors = Streams(str(log.relative_to(self.keeper.logs).with_suffix(".errors")))
        with log.open("wb") as output:
            process = self.keeper.start(
                command, errors, environment=variables, output=output.fileno()
            )
            try:
                code = process.wait(timeout=min(seconds, self.settings.unit_seconds))
                end_strays(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                self.keeper.stop(process)
            return code

    def log(self, unit: str, backend: str) -> Path:
        """Return an empty file for the output of the unit."""
        path: Path = self.keeper.logs / self.suite.name / backend / unit.replace("/", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        remove(path.with_suffix(".errors"))
        return path.with_suffix(".log")


def environment(backend: str, statistics: Path) -> dict[str, str]:
    """Return the variables that set how a patched server hops; the original does not read them."""
    variables = {}
    if backend != ORIGINAL:
        variables = {"COREHOP_BACKEND": mover(backend), "COREHOP_STATS": f"{statistics}/%p.json"}
        processors = sorted(os.sched_getaffinity(0))
        if len(processors) == 1:
            variables["COREHOP_CPUS"] = f"{processors[0]},{processors[0]}"
    if backend in POSTED:
        variables["COREHOP_SYSCALLS"] = POSTED[backend]
    if mover(backend) == "carrier":
        # All hops of the plan, even if other threads wait or run on the core.
        variables |= {"COREHOP_QUEUE": "0", "COREHOP_RUN_DELAY": "100"}
    # The last variable: libc moves it, and redis overwrites the variables before it with its title.
    return variables | {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}


def mover(backend: str) -> str:
    """Return the backend that migrates threads: `carrier` if calls are asynchronous."""
    return "carrier" if backend in POSTED else backend


def read_statistics(folder: Path) -> Hops:
    """Sum up the statistics of the processes of a run."""
    total = Hops()
    for path in folder.glob("*.json"):
        found = corehop_json.read(path, Statistics)
        calls = {function.offset: function.calls for function in found.functions}
        backends = frozenset([found.backend])
        reason = found.carriers_refuse
        refusals = frozenset() if reason is msgspec.UNSET else frozenset([reason])
        posted = found.posted()
        total += Hops(found.hops, found.failed_hops, calls, backends, posted, refusals)
    return total


def strange(ended: int | None, outcome: Outcome, hops: Hops, backend: str) -> frozenset[str]:
    """Return what is wrong with a run, apart from its tests."""
    found = set()
    if ended is None:
        found.add(LATE)
    elif ended != 0 and not outcome.failed:
        found.add(UNFINISHED)
    # A server that filters its system calls has no hops from then on. A server that the backend
    # `carrier` refuses for a reason continues with affinity.
    fine = {mover(backend), "off", *(["affinity"] if hops.refusals else [])}
    found |= {f"(a server hopped by {other})" for other in hops.backends - fine}
    return frozenset(found)
