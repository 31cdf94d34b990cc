"""The numbers of passed, failed, and skipped tests, from each program's report."""

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
    """The numbers of passed and skipped tests, the names of failed ones, and reasons of skips."""

    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the last line of `make test`."""
        return f"{self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped"


def together(all_counts: Iterable[Counts]) -> Counts:
    """Sum up the counts."""
    result = Counts()
    for counts in all_counts:
        result.passed += counts.passed
        result.skipped += counts.skipped
        result.failed += counts.failed
        result.reasons += counts.reasons
    return result


def of_junit(report: Path) -> Counts:
    """Count the tests in a JUnit report of nextest or pytest."""
    counts = Counts()
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed.append(f"{case.get('classname')} {case.get('name')}")
        elif (skipped := case.find("skipped")) is not None:
            counts.skipped += 1
            if reason := skipped.get("message"):
                counts.reasons.append(f"{case.get('name')}: {reason}")
        else:
            counts.passed += 1
    return counts


def of_doc_tests(printed: str) -> Counts:
    """Count the doc tests in the output of `cargo test --doc` for all crates."""
    counts = Counts(failed=DOC_TEST_FAILED.findall(printed))
    for passed, _, ignored in DOC_TESTS.findall(printed):
        counts.passed += int(passed)
        counts.skipped += int(ignored)
    return counts
