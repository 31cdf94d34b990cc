"""How the check of upstream tests parses suites, and its conclusions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from demo.processes import Keeper
from upstream import settings, strays
from upstream.checks import chosen
from upstream.memcached import ONLY_DEBUG, Memcached
from upstream.plans import Plan, hooks_of
from upstream.python import Python
from upstream.redis import Redis
from upstream.runs import ORIGINAL, environment, read_statistics, strange
from upstream.settings import SettingError, Settings
from upstream.stress_ng import StressNg
from upstream.table import Row, page
from upstream.verdict import LATE, NOT_RUN, UNFINISHED, Hops, Judged, Outcome, judge

NOWHERE = Path("/nonexistent")
REDIS_SAYS = """\
Starting test server at port 21079
[\x1b[0;32;49mok\x1b[0m]: SET and GET an item (1 ms)
[\x1b[0;31;49merr\x1b[0m]: RESTORE (of much) fails in tests/unit/dump.tcl
Expected '[ok]: a pattern' to equal or match 'ERR'
[\x1b[0;33;49mskip\x1b[0m]: one that is left out
[\x1b[0;32;49mok\x1b[0m]: DUMP (3 ms) of nothing (0 ms)
[1/1 \x1b[0;33;49mdone\x1b[0m]: unit/dump (1 seconds)

                   The End
"""
MEMCACHED_SAYS = """\
1..5
ok 1 - started
not ok 2 - got what was set
ok 3 # skip no such thing here
not ok 4 - some day # TODO not yet
ok
"""


def outcome(*failed: str, passed: int = 3) -> Outcome:
    return Outcome(passed, frozenset(failed))


def judged(*outcomes: Outcome, excused: tuple[str, ...] = (), hops: int = 7) -> Judged:
    return Judged(outcomes, frozenset(excused), Hops(hops))


def test_of_redis_every_test_is_counted_once_by_its_first_line() -> None:
    failure = "RESTORE (of much) fails in tests/unit/dump.tcl"
    assert Redis(NOWHERE).read(REDIS_SAYS) == outcome(failure, passed=2)


@pytest.mark.parametrize("end", ["[exception]: it broke\n", ""])
def test_a_unit_of_redis_that_ends_early_has_failed(end: str) -> None:
    found = Redis(NOWHERE).read(REDIS_SAYS.partition("[1/1")[0] + end)
    assert UNFINISHED in found.failed
    assert ("it broke" in found.failed) == bool(end)


def test_of_memcached_every_test_is_counted_once_and_those_to_do_pass() -> None:
    assert Memcached(NOWHERE).read(MEMCACHED_SAYS) == outcome("2 - got what was set", passed=4)


@pytest.mark.parametrize("said", ["", "ok 1\n", "1..2\nok 1\n", "1..1\nok 1\nok 2\n"])
def test_a_unit_of_memcached_that_does_not_do_as_planned_has_failed(said: str) -> None:
    assert UNFINISHED in Memcached(NOWHERE).read(said).failed


def test_a_unit_of_memcached_that_plans_nothing_passes() -> None:
    assert Memcached(NOWHERE).read("1..0 # SKIP no TLS\n") == outcome(passed=0)


def test_memcached_is_not_asked_for_what_debian_did_not_build(tmp_path: Path) -> None:
    (tmp_path / "timedrun.c").write_text("int main(void) { return 0; }\n")
    library = tmp_path / "t" / "lib" / "Test.pm"
    library.parent.mkdir(parents=True)
    library.write_text(f'$args .= "{ONLY_DEBUG}"; $args .= " -o other";')
    with Keeper(tmp_path) as keeper:
        Memcached(tmp_path).prepare(keeper)
    assert library.read_text() == '$args .= ""; $args .= " -o other";'
    assert os.access(tmp_path / "timedrun", os.X_OK)


def test_a_suite_of_which_no_unit_passes_on_the_original_shows_nothing() -> None:
    bare, moved = Row("redis", ORIGINAL), Row("redis", "carrier")
    bare.units["unit"] = judged(outcome(UNFINISHED))
    moved.units["unit"] = judged(outcome(UNFINISHED), excused=(UNFINISHED,))
    lines, failed = page([bare, moved], Settings())
    assert failed == 1
    assert "redis, original: FAILED: no unit passes on the original" in lines


def test_both_suites_find_the_server_that_was_placed_last(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for suite, names in (
        (Redis(tmp_path), ["src/redis-server"]),
        (Memcached(tmp_path), ["memcached", "memcached-debug"]),
    ):
        for server in (Path("/first"), Path("/second")):
            suite.place(server)
        assert {(tmp_path / name).readlink() for name in names} == {Path("/second")}


def test_a_unit_is_run_until_it_passes_and_what_failed_before_is_named() -> None:
    runs = iter([outcome("slow"), outcome("other"), outcome(), outcome("never run")])
    found = judge(lambda: (next(runs), Hops(hops=10, failed=1)), attempts=9)
    assert len(found.outcomes) == 3
    assert not found.failed
    assert found.again == {"slow", "other"}
    assert (found.hops.hops, found.hops.failed) == (30, 3)


def test_what_fails_in_every_run_fails() -> None:
    runs = iter([outcome("bad", "slow"), outcome("bad"), outcome("bad", "other")])
    found = judge(lambda: (next(runs), Hops()), attempts=3)
    assert found.failed == {"bad"}
    assert not found.is_passed


def test_a_unit_that_fails_elsewhere_in_every_run_fails() -> None:
    found = judged(outcome("one", "known"), outcome("two", "known"), excused=("known",))
    assert found.failed == {"two"}


def test_what_fails_on_the_original_is_excused_and_nothing_else() -> None:
    known = judged(outcome("known"), excused=("known", "gone"))
    assert not known.failed
    assert known.failed_there_too == {"known"}
    assert known.is_passed
    assert judged(outcome("known", "new"), excused=("known",)).failed == {"new"}


@pytest.mark.parametrize("how", [UNFINISHED, LATE, NOT_RUN])
def test_a_unit_that_ends_early_on_the_original_too_neither_passes_nor_fails(how: str) -> None:
    found = judged(outcome(how), excused=(how,))
    assert (found.failed, found.is_passed) == (frozenset(), False)


def test_a_unit_whose_turn_never_came_is_not_tried_again() -> None:
    found = judge(lambda: (outcome(NOT_RUN), Hops()), attempts=3)
    assert len(found.outcomes) == 1
    assert found.failed == {NOT_RUN}


@pytest.mark.parametrize(
    ("ended", "failed", "hopped_by", "expected"),
    [
        (0, (), "carrier", set()),
        (None, (), "carrier", {LATE}),
        (1, (), "carrier", {UNFINISHED}),
        (1, ("a test",), "carrier", set()),
        (0, (), "affinity", {"(a server hopped by affinity)"}),
    ],
)
def test_a_run_is_judged_by_its_end_and_its_backend_too(
    ended: int | None, failed: tuple[str, ...], hopped_by: str, expected: set[str]
) -> None:
    hops = Hops(backends=frozenset([hopped_by]))
    assert strange(ended, outcome(*failed), hops, "carrier") == expected


def test_carriers_may_leave_a_process_to_affinity_if_they_give_the_reason() -> None:
    hops = Hops(backends=frozenset(["affinity"]), refusals=frozenset(["a mutex"]))
    assert strange(0, outcome(), hops, "carrier") == set()
    assert strange(1, outcome(), hops, "carrier") == {UNFINISHED}
    row = Row("glibc", "carrier", {"cond24": Judged((outcome(),), frozenset(), hops)})
    assert "glibc, carrier: cond24: carriers refused: a mutex" in row.notes()


def test_statistics_of_all_processes_are_summed(tmp_path: Path) -> None:
    text = (
        '{"backend":"carrier","hops":%d,"failed_hops":1,"functions":['
        '{"symbol":"a","offset":16,"calls":%d},{"symbol":"b","offset":%d,"calls":5}]%s}'
    )
    posted = ',"system_calls":{"calls":[{"posted":4},{"posted":3}]}'
    (tmp_path / "1.json").write_text(text % (100, 7, 32, ""))
    refused = posted + ',"carriers_refuse":"a mutex"'
    (tmp_path / "2.json").write_text(text % (20, 3, 48, refused))
    (tmp_path / "3.json.9.part").write_text("{")
    found = read_statistics(tmp_path)
    assert (found.hops, found.failed) == (120, 2)
    assert found.posted == 7
    assert found.backends == {"carrier"}
    assert found.refusals == {"a mutex"}
    assert found.calls == {16: 10, 32: 5, 48: 5}


def test_the_busiest_functions_are_left_out_until_the_calls_fit() -> None:
    plan = Plan(NOWHERE, "00ff", hooks_of([(16, "a"), (32, "b"), (48, "c"), (64, "d")], {64}))
    assert [(hook.core, hook.mode) for hook in plan.hooks] == [
        (0, "enter"),
        (1, "enter"),
        (0, "call"),
        (1, "enter"),
    ]
    calls = {16: 70, 32: 31, 48: 30}
    kept = plan.without_the_busiest(calls, 100)
    assert [hook.offset for hook in kept.hooks] == [32, 48, 64]
    assert plan.without_the_busiest(calls, 131) == plan
    assert 'offset = 48\nsymbol = "c"\ncore = 0\nmode = "call"' in kept.text()


def test_the_original_is_told_nothing_and_libc_the_same_in_all_runs(tmp_path: Path) -> None:
    assert set(environment(ORIGINAL, tmp_path)) == {"GLIBC_TUNABLES"}
    patched = environment("carrier", tmp_path)
    assert patched["COREHOP_STATS"] == f"{tmp_path}/%p.json"
    assert list(patched)[-1] == "GLIBC_TUNABLES"


def test_the_page_counts_units_and_names_each_test() -> None:
    rows = [
        Row("redis", ORIGINAL, {"a": judged(outcome("known"), hops=0), "b": judged(outcome())}),
        Row(
            "redis",
            "carrier",
            {
                "a": judged(outcome("known"), excused=("known",)),
                "b": judged(outcome("slow"), outcome()),
                "c": judged(outcome("bad")),
            },
            [40, 10, 30],
            12.4,
        ),
    ]
    lines, failed = page(rows, Settings())
    assert failed == 1
    assert lines[-1] == "2 passed, 1 failed"
    cells = next(line for line in lines if line.startswith("redis, carrier")).split()[2:]
    assert cells == ["2", "1", "1", "1", "9", "10-40", "21", "12"]
    assert "redis, carrier: c: FAILED: bad" in lines
    assert "redis, carrier: a: failed there too: known" in lines
    assert "redis, carrier: b: passed when run again: slow" in lines
    assert "redis, original: a: failed: known" in lines


def test_a_suite_without_a_hop_fails() -> None:
    lines, failed = page([Row("redis", "affinity", {"a": judged(outcome(), hops=0)})], Settings())
    assert failed == 1
    assert "redis, affinity: FAILED: no server counted a hop or posted a call" in lines


def test_a_suite_whose_calls_were_to_be_posted_and_were_not_fails(tmp_path: Path) -> None:
    variables = environment("batched", tmp_path)
    assert variables["COREHOP_BACKEND"] == "carrier"
    assert variables["COREHOP_SYSCALLS"].endswith("@batch")
    for posted, failed in ((0, 1), (3, 0)):
        unit = Judged((outcome(),), frozenset(), Hops(7, posted=posted))
        assert page([Row("redis", "batched", {"a": unit})], Settings())[1] == failed


@pytest.mark.parametrize(("calls", "failed"), [({}, 1), ({5: 0}, 1), ({5: 1}, 0)])
def test_a_server_that_decides_for_itself_needs_calls_alone(
    calls: dict[int, int], failed: int
) -> None:
    unit = Judged((outcome(),), frozenset(), Hops(0, calls=calls))
    assert page([Row("redis", "auto", {"a": unit})], Settings())[1] == failed


def test_settings_are_read_and_count_is_always_among_the_ways_to_hop() -> None:
    assert settings.read({"PATH": "/bin", "UPSTREAM_UNITS": ""}) == Settings()
    given = {
        "UPSTREAM_BACKENDS": "affinity",
        "UPSTREAM_UNITS": "short,t/a.t",
        "UPSTREAM_CALLS": "9",
    }
    found = settings.read(given)
    assert (found.backends, found.units) == (("count", "affinity"), ("short", "t/a.t"))
    assert found.calls == 9


@pytest.mark.parametrize(
    ("name", "text"),
    [("SUITES", "nginx"), ("CALLS", "0"), ("SECONDS", "1e3"), ("BACKENDS", "off"), ("UNIT", "a")],
)
def test_a_setting_that_makes_no_sense_is_named(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"^UPSTREAM_{name}: "):
        settings.read({f"UPSTREAM_{name}": text})


def test_units_are_chosen_in_the_suites_own_order() -> None:
    suite = Redis(NOWHERE)
    known = ["unit/a", "unit/multi", "unit/b"]
    assert chosen(suite, known, ()) == known
    assert chosen(suite, known, ("unit/b", "unit/a")) == ["unit/a", "unit/b"]
    assert chosen(suite, known, ("short",)) == ["unit/multi"]


LEAVES_A_SERVER = """
import pathlib, subprocess, sys, time
from upstream import strays
strays.adopt()
folder, work, grace = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
# The number is there in whole, or not yet.
server = "cd {0}; trap '' TERM; echo $$ >number; mv number pid; {1}".format(folder, work)
subprocess.run(["setsid", "--fork", "sh", "-c", server], check=True)
while not (folder / "pid").exists():
    time.sleep(0.01)  # waits: between looks
(folder / "go").touch()
strays.end_strays(grace)
sys.exit(len(strays.descendants()))
"""
WORKS_ON = "exec sleep 1000"
ENDS_BY_ITSELF = "until [ -e go ]; do sleep 0.01; done; : >ended"


# The second grace exceeds the test's limit: the check does not wait for a server that has ended.
@pytest.mark.parametrize(("work", "grace"), [(WORKS_ON, "0.3"), (ENDS_BY_ITSELF, "1000")])
def test_a_server_that_left_its_group_is_ended_after_its_grace(
    tmp_path: Path, work: str, grace: str
) -> None:
    program = [sys.executable, "-c", LEAVES_A_SERVER, str(tmp_path), work, grace]
    assert subprocess.run(program, check=False, timeout=600).returncode == 0
    server = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{server}").exists()
    assert (tmp_path / "ended").exists() is (work == ENDS_BY_ITSELF)


def test_nobody_else_is_a_descendant() -> None:
    child = subprocess.Popen(["sleep", "1000"])
    try:
        assert child.pid in strays.descendants()
        assert not {1, os.getpid(), os.getppid()} & strays.descendants()
    finally:
        child.kill()
        child.wait()


PYTHON_SAYS = """\
test_one (test.test_signal.PosixTests.test_one) ... ok
test_two (test.test_signal.PosixTests.test_two) ... FAIL
======================================================================
FAIL: test_two (test.test_signal.PosixTests.test_two)
----------------------------------------------------------------------
Ran 12 tests in 0.017s

FAILED (failures=1, errors=1, skipped=2)
== Tests result: FAILURE ==
Tests result: FAILURE
"""


def test_of_python_the_tests_that_ran_are_counted_and_those_that_failed_are_named() -> None:
    failure = "test_two (test.test_signal.PosixTests.test_two)"
    assert Python(NOWHERE).read(PYTHON_SAYS) == outcome(failure, passed=10)


def test_a_module_of_pythons_tests_that_crashes_has_failed() -> None:
    assert UNFINISHED in Python(NOWHERE).read("test_one (test.x.X.test_one) ... ").failed


STRESS_NG_SAYS = """\
stress-ng: info:  [7] dispatching hogs: 2 sigq
stress-ng: info:  [7] successful run completed in 0.12s
"""


def test_of_stress_ng_both_stressors_are_counted() -> None:
    assert StressNg(NOWHERE).read(STRESS_NG_SAYS) == outcome(passed=2)


@pytest.mark.parametrize(
    ("said", "failure"),
    [
        ("stress-ng: fail:  [8] sigq: lost 3 of 0x7f signals", "sigq: lost N of N signals"),
        ("stress-ng: info:  [7] unsuccessful run completed in 0.12s", "unsuccessful run"),
    ],
)
def test_what_stress_ng_finds_wrong_is_named_without_its_numbers(said: str, failure: str) -> None:
    ended = said if "run" in said else f"{said}\n{STRESS_NG_SAYS}"
    assert StressNg(NOWHERE).read(ended) == outcome(failure, passed=0)


def test_a_stressor_that_does_not_end_has_failed() -> None:
    said = STRESS_NG_SAYS.replace("successful run completed", "interrupted")
    assert StressNg(NOWHERE).read(said) == outcome(UNFINISHED, passed=0)
