"""Parses the Test Anything Protocol: a plan, and a line per test."""

from __future__ import annotations

import re

from upstream.verdict import UNFINISHED, Outcome

PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
RESULT = re.compile(r"^(not )?ok\b *(\d*)(.*)$", re.MULTILINE)
TODO = re.compile(r"# *todo\b", re.IGNORECASE)


def read_tap(printed: str) -> Outcome:
    """Compare the tests that ran with the plan; 1..0 plans nothing and states why."""
    results = RESULT.findall(printed)
    bad = [number + said for no, number, said in results if no and not TODO.search(said)]
    failed = set(bad)
    planned = PLAN.search(printed)
    if planned is None or int(planned[1]) != len(results):
        failed.add(UNFINISHED)
    return Outcome(len(results) - len(bad), frozenset(failed))
