"""The Rust tests, run by nextest, whose settings are in .config/nextest.toml.

Built programs are looked up once. No later step then waits for the lock of the build folder, which
parallel steps hold for minutes.
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
from suite.linted import ONCE, linted
from suite.needs import Need
from suite.processes import KEPT, ROOT, Processes

SETTINGS = ROOT / ".config/nextest.toml"
# Benches are no tests: nextest would request a list of tests from them.
TARGETS = ["--workspace", "--locked", "--lib", "--bins", "--test", "*"]
NEXTEST = [str(Path(sys.executable).with_name("cargo-nextest")), "nextest"]
# nextest's exit code for failed tests; its report lists them.
TESTS_FAILED = 100
# Tests generate random cases from this seed, so a commit has the same result on every machine, and
# a change is not blamed for a new case. `make test-long` tries new ones.
SEED = {"PROPTEST_RNG_SEED": os.environ.get("PROPTEST_RNG_SEED", "20220914")}


class SuiteError(Exception):
    """A program of the suite failed to do its work."""


def printed(command: list[str]) -> str:
    """Return the output of a program, which must succeed."""
    # Look up the programs that were built this way.
    environment = {**os.environ, **linted()}
    ran = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, env=environment
    )
    if ran.returncode != 0:
        raise SuiteError(f"{' '.join(command[:4])} failed: exit code {ran.returncode}")
    return ran.stdout


def settings() -> dict[str, dict[str, str]]:
    """Return the profiles by name."""
    profiles: dict[str, dict[str, str]] = tomllib.loads(SETTINGS.read_text())["profile"]
    return profiles


def of_need(need: Need) -> str:
    """Return the expression for the tests with this requirement."""
    return f"test(/(^|::){need.module}::/)"


def all_of(expressions: Iterable[str]) -> str:
    """Return the expression for the tests that match all of these."""
    return " & ".join(f"({expression})" for expression in expressions)


@dataclass(frozen=True)
class Built:
    """The built test programs."""

    arguments: list[str]

    @classmethod
    def found(cls) -> Built:
        """Look up the programs."""
        KEPT.mkdir(parents=True, exist_ok=True)
        metadata, binaries = KEPT / "metadata.json", KEPT / "binaries.json"
        cargo = ["cargo", "metadata", "--format-version", "1", "--locked"]
        metadata.write_text(printed(cargo))
        listed = ["list", *TARGETS, "--list-type", "binaries-only", "--message-format", "json"]
        binaries.write_text(printed([*NEXTEST, *listed]))
        return cls(["--cargo-metadata", str(metadata), "--binaries-metadata", str(binaries)])

    def tests(self, expression: str, which: str = "default") -> list[str]:
        """List the tests that match the expression: `default`, or the `only` ignored ones."""
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
        """Run the tests that match the expression, with this profile."""
        report = ROOT / "target/nextest" / profile / "junit.xml"
        report.unlink(missing_ok=True)
        threads = 2 * len(os.sched_getaffinity(0))
        command = [*NEXTEST, "run", *self.arguments, "--profile", profile, "-E", expression]
        command += ["--test-threads", str(threads), "--no-tests", "pass"]
        built = {"COREHOP_PLUGINS_BUILT": "1"}
        code = processes.run(command, log=log, more=SEED | built | ONCE)
        if not report.exists() or code not in (0, TESTS_FAILED):
            raise SuiteError(f"nextest did not run the tests: exit code {code}")
        return of_junit(report)


def forget_earlier_runs() -> None:
    """Remove the shared files of tests of earlier runs (tests/made_once)."""
    shutil.rmtree(ROOT / "target/tmp/made", ignore_errors=True)
