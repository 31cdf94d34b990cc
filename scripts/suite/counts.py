"""How many tests passed, failed and were skipped, as each of the programs reports it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

DOC_TESTS = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.M)
DOC_TEST_FAILED = re.compile(r"^test (.*) \.\.\. FAILED$", re.M)


@dataclass
class Counts:
    """Of some tests: how many passed and were skipped, and the names of those that failed."""

    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Give the line with which `make test` ends."""
        return f"{self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped"


def together(all_counts: Iterable[Counts]) -> Counts:
    """Add them up."""
    result = Counts()
    for counts in all_counts:
        result.passed += counts.passed
        result.skipped += counts.skipped
        result.failed += counts.failed
    return result


def of_junit(report: Path) -> Counts:
    """Count what a report in JUnit's format says, as nextest and pytest write it."""
    counts = Counts()
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed.append(f"{case.get('classname')} {case.get('name')}")
        elif case.find("skipped") is not None:
            counts.skipped += 1
        else:
            counts.passed += 1
    return counts


def of_doc_tests(printed: str) -> Counts:
    """Count what `cargo test --doc` printed of all crates."""
    counts = Counts(failed=DOC_TEST_FAILED.findall(printed))
    for passed, _, ignored in DOC_TESTS.findall(printed):
        counts.passed += int(passed)
        counts.skipped += int(ignored)
    return counts
