"""The suite counts the results of each program, and reports what it skips and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from suite import again, beside, needs, nextest, run
from suite.beside import Beside, Step, of_log
from suite.counts import Counts, of_doc_tests, of_junit, together
from suite.load import Load
from suite.processes import INTERRUPTED, ROOT, Processes

REPORT = """\
<testsuites name="nextest-run" tests="3" failures="1" errors="0">
  <testsuite name="corehop::commands" tests="3">
    <testcase name="replay::passes" classname="corehop::commands"/>
    <testcase name="replay::fails" classname="corehop::commands">
      <failure type="test failure"/>
    </testcase>
    <testcase name="other" classname="python"><skipped message="no vale"/></testcase>
  </testsuite>
</testsuites>
"""

DOC_TESTS = """\
   Doc-tests corehop_traces
test traces/src/lib.rs - (line 12) ... ok
test traces/src/lib.rs - read (line 40) ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out
"""


def test_reports_of_all_programs_are_added_up(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    report.write_text(REPORT)
    of_tests = of_junit(report)
    assert of_tests == Counts(1, 1, ["corehop::commands replay::fails"], ["other: no vale"])
    of_docs = of_doc_tests(DOC_TESTS)
    assert of_docs == Counts(4, 2, ["traces/src/lib.rs - read (line 40)"])
    both = together([of_tests, of_docs])
    assert str(both) == "5 passed, 2 failed, 3 skipped"
    assert both.reasons == ["other: no vale"]


def test_doc_tests_that_cannot_be_built_have_failed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("error: could not compile")
    assert of_log(log, 101).failed == ["doc tests"]
    assert of_log(log, 0) == Counts()


class Listed:
    """Test programs with five tests, one of them ignored."""

    TESTS = ("a", "b", "needs_x::c", "needs_x::d")

    def __init__(self, reported: int) -> None:
        self.reported = reported
        self.run_with: list[tuple[str, str]] = []

    def tests(self, expression: str, which: str = "default") -> list[str]:
        if which == "only":
            return ["ignored"]
        if "not test(" in expression:
            return ["a", "b"]
        return [test for test in self.TESTS if "needs_x" in test]

    def run(self, _: Processes, profile: str, expression: str, _log: Path | None) -> Counts:
        self.run_with.append((profile, expression))
        return Counts(passed=self.reported)


def suite_of(listed: Listed, missing: str | None) -> run.Suite:
    need = needs.Need("needs_x", lambda: missing, "install x")
    return run.Suite(listed, [need])  # type: ignore[arg-type]


def test_tests_of_what_is_missing_are_left_out_counted_and_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "forget_earlier_runs", lambda: None)
    listed = Listed(reported=2)
    suite = suite_of(listed, "no x")
    counts, wrong = suite.run(Processes(), [])
    # The two tests with the missing need, and the ignored one.
    assert (counts, wrong) == (Counts(passed=4, skipped=3), [])
    assert all("not test(/(^|::)needs_x::/)" in expression for _, expression in listed.run_with)
    assert [profile for profile, _ in listed.run_with] == ["default", "alone"]
    (skipped,) = suite.skipped
    assert str(skipped) == "skipped 2 of needs_x: no x\n  remedy: install x"


def test_a_test_that_was_not_reported_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "forget_earlier_runs", lambda: None)
    counts, _ = suite_of(Listed(reported=1), "no x").run(Processes(), [])
    assert counts.failed == ["1 tests that did not run"] * 2


def test_with_all_needs_nothing_is_skipped() -> None:
    assert suite_of(Listed(reported=2), None).skipped == []


def test_each_need_has_tests_and_each_such_module_a_need() -> None:
    modules = {need.module for need in needs.NEEDS}
    sources = subprocess.run(
        ["git", "grep", "-hoE", r"mod needs_\w+", "--", "*.rs"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split("\n")
    assert modules == {line.removeprefix("mod ") for line in sources if line}


def test_the_tests_that_run_alone_are_those_that_take_all_threads() -> None:
    settings = tomllib.loads(nextest.SETTINGS.read_text())["profile"]
    overrides = settings["default"]["overrides"]
    all_threads = [of for of in overrides if of.get("threads-required") == "num-test-threads"]
    assert [of["filter"] for of in all_threads] == [settings["alone"]["default-filter"]]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep logs separate from those of the enclosing run."""
    monkeypatch.setattr(beside, "KEPT", tmp_path)


def test_steps_go_on_after_one_that_fails(tmp_path: Path) -> None:
    fails = Step("fails", [sys.executable, "-c", "print('no'); raise SystemExit(3)"], tmp_path)
    nothing = [sys.executable, "-c", ""]
    counts = Step("counts", nothing, tmp_path, count=lambda _, code: Counts(1 + code))
    steps = Beside(Processes(), [fails, counts])
    steps.start()
    assert steps.counts() == Counts(passed=1)
    assert steps.wrong == [fails]
    assert fails.log.read_text() == "no\n"


def test_what_runs_is_ended_and_nothing_more_is_started() -> None:
    processes = Processes()
    step = Step("sleeps", [sys.executable, "-c", "import signal; signal.pause()"])
    steps = Beside(processes, [step, step])
    steps.start()
    while not processes.running:
        time.sleep(0.01)  # waits: between looks
    processes.end()
    assert steps.counts() == Counts()
    assert processes.run(["true"]) == INTERRUPTED


def children_of(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(child) for child in listed.split()]


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_the_load_ends_with_what_it_is_beside() -> None:
    before = children_of(os.getpid())
    with Load():
        running = [child for child in children_of(os.getpid()) if child not in before]
        assert len(running) == 3
    assert children_of(os.getpid()) == before


def test_the_load_ends_where_the_suite_is_killed() -> None:
    program = "from suite.load import Load\nwith Load():\n    print(flush=True)\n    input()"
    command = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    scripts = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, env=scripts) as suite:
        assert suite.stdout
        suite.stdout.readline()
        running = children_of(suite.pid)
        assert len(running) == 3
        suite.kill()
        suite.wait()
    while any(map(is_running, running)):
        time.sleep(0.01)  # waits: between looks


def test_runs_are_rows_of_a_table_and_one_line_of_json() -> None:
    runs = [
        again.Run(number, again.beside(number, again.HALF), counts)
        for number, counts in [(1, Counts(9, 1)), (2, Counts(8, 1, ["a"])), (3, Counts(9, 1))]
    ]
    assert [str(of) for of in [again.HEAD, *runs]] == [
        " run  beside  passed  failed  skipped  failed tests",
        "   1  idle         9       0        1",
        "   2  load         8       1        1  a",
        "   3  idle         9       0        1",
    ]
    told = json.loads(again.as_json(runs))
    assert told["failures"] == {"a": 1}
    assert told["runs"][1] == {
        "run": 2,
        "beside": "load",
        "passed": 8,
        "failed": ["a"],
        "skipped": 1,
    }
    assert [again.beside(number, again.BUSY) for number in (1, 2)] == ["load", "load"]
    assert [again.beside(number, again.IDLE) for number in (1, 2)] == ["idle", "idle"]
