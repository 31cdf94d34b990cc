"""The tests of Rust, by nextest, whose settings are in .config/nextest.toml.

What was built is looked up once. So no later step waits for the lock of the build folder, which
the steps beside hold for minutes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from suite.counts import Counts, of_junit
from suite.linted import linted
from suite.needs import Need
from suite.processes import KEPT, ROOT, Processes

SETTINGS = ROOT / ".config/nextest.toml"
# Benches are no tests: nextest would ask them for a list of theirs.
TARGETS = ["--workspace", "--locked", "--lib", "--bins", "--test", "*"]
NEXTEST = [str(Path(sys.executable).with_name("cargo-nextest")), "nextest"]
PLUGIN = ROOT / "target/debug/libcorehop_qemu_plugin.so"
# nextest's, where tests failed; they are in its report.
TESTS_FAILED = 100
# Tests draw random cases from this seed. So a commit passes or fails on every machine, and a change
# is not blamed for a case that nobody tried before. `make test-long` tries new ones.
SEED = {"PROPTEST_RNG_SEED": os.environ.get("PROPTEST_RNG_SEED", "20220914")}


class SuiteError(Exception):
    """A program of the suite did not do what it is for."""


def printed(command: list[str]) -> str:
    """Give what a program prints; it must succeed."""
    # What is looked up is what was built so.
    environment = {**os.environ, **linted()}
    ran = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, env=environment
    )
    if ran.returncode != 0:
        raise SuiteError(f"{' '.join(command[:4])} failed: exit code {ran.returncode}")
    return ran.stdout


def settings() -> dict[str, dict[str, str]]:
    """Read the profiles by name."""
    profiles: dict[str, dict[str, str]] = tomllib.loads(SETTINGS.read_text())["profile"]
    return profiles


def of_need(need: Need) -> str:
    """Give the expression for the tests that need it."""
    return f"test(/(^|::){need.module}::/)"


def all_of(expressions: Iterable[str]) -> str:
    """Give the expression for the tests that each of these is for."""
    return " & ".join(f"({expression})" for expression in expressions)


@dataclass(frozen=True)
class Built:
    """The test programs that were built."""

    arguments: list[str]

    @classmethod
    def found(cls) -> Built:
        """Look them up."""
        KEPT.mkdir(parents=True, exist_ok=True)
        metadata, binaries = KEPT / "metadata.json", KEPT / "binaries.json"
        cargo = ["cargo", "metadata", "--format-version", "1", "--locked"]
        metadata.write_text(printed(cargo))
        listed = ["list", *TARGETS, "--list-type", "binaries-only", "--message-format", "json"]
        binaries.write_text(printed([*NEXTEST, *listed]))
        return cls(["--cargo-metadata", str(metadata), "--binaries-metadata", str(binaries)])

    def tests(self, expression: str, which: str = "default") -> list[str]:
        """List the tests that the expression is for: `default`, or the `only` ignored ones."""
        listed = ["list", *self.arguments, "--run-ignored", which, "-E", expression]
        suites = json.loads(printed([*NEXTEST, *listed, "--message-format", "json"]))
        return [
            f"{suite['binary-id']} {name}"
            for suite in suites["rust-suites"].values()
            for name, test in suite["testcases"].items()
            if test["filter-match"]["status"] == "matches"
        ]

    def run(
        self, processes: Processes, profile: str, expression: str, log: Path | None = None
    ) -> Counts:
        """Run the tests that the expression is for, by this profile."""
        report = ROOT / "target/nextest" / profile / "junit.xml"
        report.unlink(missing_ok=True)
        threads = 2 * len(os.sched_getaffinity(0))
        command = [*NEXTEST, "run", *self.arguments, "--profile", profile, "-E", expression]
        command += ["--test-threads", str(threads), "--no-tests", "pass"]
        plugin = {"COREHOP_TESTED_PLUGIN": str(PLUGIN)}
        code = processes.run(command, log=log, more=SEED | plugin)
        if not report.exists() or code not in (0, TESTS_FAILED):
            raise SuiteError(f"nextest did not run the tests: exit code {code}")
        return of_junit(report)


def forget_earlier_runs() -> None:
    """Remove what the tests of earlier runs made for each other (tests/made_once)."""
    shutil.rmtree(ROOT / "target/tmp/made", ignore_errors=True)
