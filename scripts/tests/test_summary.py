"""The demo's conclusions from the results of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_up import counters, function, optimized, replayed, run, tried

from corehop_json.partition import Partitioned
from demo.layout import Layout, StepError
from demo.stages import Run
from demo.summary import PatchedRun, Report, places, speed

LOAD = "pages and lists"

# A function of every kind of plan, and how it is shown.
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "core": (function(core=1), "core 1 from foo::bar"),
    "delegated": (function(core=1, mode="call"), "calls of foo::bar on core 1"),
    "argument": (function(by="argument 3"), "core of argument 3 from foo::bar"),
    "k-th call": (function(core=1, call=6), "core 1 from call 6 of foo::bar"),
}


def report(patched: Run, functions: list[dict[str, Any]] | None = None) -> Report:
    judged = {"requests": 10, "baseline": counters(600, 400), "split": counters(200, 300)}
    contents = {"searched": judged, "held_out": judged, "plan": functions or [function(core=1)]}
    found = msgspec.convert(contents, Partitioned)
    runs = [PatchedRun(2, "count", patched, run(5))]
    layout = Layout(Path("/checkout"))
    return Report(layout, run(0), run(0), {2: found}, {2: replayed(2000)}, runs, left_out=[2])


def test_equal_runs_pass_and_every_figure_is_shown() -> None:
    good = report(run(2005))
    good.judge()
    page = "\n".join(good.lines())
    assert "46 transactions, 1000 requests" in page
    assert "L2                        100.0        50.0    -50.0 %" in page
    assert "of fetches               60.0        20.0    -66.7 %" in page
    assert "core 1 from foo::bar\n" in page
    assert "2 cores, count           2000     2000       2.00  agrees" in page
    assert "2 cores, affinity: left out, this machine has fewer CPUs" in page
    assert "2 tables, equal unpatched, recorded and in 1 patched runs" in page
    assert "scratch/demo/plan-2.toml" in "\n".join(places(good.layout, [2]))


def test_a_table_that_differs_is_named_and_fails() -> None:
    bad = report(run(2005, stock={"rows": 3, "checksum": 19}))
    assert "DIFFER from the unpatched run: count on 2 cores: stock" in bad.checksum_line()
    with pytest.raises(StepError, match="other tables"):
        bad.judge()


@pytest.mark.parametrize(
    ("hops", "agrees"), [(2045, True), (1965, True), (2046, False), (5, False)]
)
def test_hops_may_be_two_percent_off(hops: int, agrees: bool) -> None:
    judged = report(run(hops))
    assert ("DIFFERS" in judged.hop_lines()[1]) is not agrees
    if not agrees:
        with pytest.raises(StepError, match="hopped"):
            judged.judge()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_plan_is_shown_in_both_parts_of_the_page(kind: str) -> None:
    planned, expected = KINDS[kind]
    assert f"  {expected}" in report(run(2005), [planned]).lines()
    plan = tried(cores=2, functions=[planned])
    assert f"  {expected}" in speed(optimized(tried=plan), LOAD)


def test_a_gain_is_shown_with_its_interval_and_what_to_start() -> None:
    assert speed(optimized(), LOAD)[1] == "Redis, pages and lists, measured on this machine"
    assert speed(optimized(), LOAD)[2:] == [
        "  2.70 (2.55 to 2.85, 95 % confidence) times as fast on 2 cores",
        "  predicted its own code 2.75 (2.50 to 3.00) times as fast, -99.6 % L2 misses,"
        " 2.0 hops a request",
        "  core 0 from zsetLength",
        "  core 1 from foo::bar",
        "  to start it so: corehop run",
    ]


def test_starts_that_differ_are_shown_with_both_groups() -> None:
    groups = [{"runs": 11, "ratio": 1.02}, {"runs": 9, "ratio": 1.6}]
    lines = speed(optimized(groups=groups), LOAD)
    assert "  starts differ: 11 at 1.02 and 9 at 1.60 times the original's speed" in lines


def test_system_calls_are_shown_without_a_plan_and_without_cores() -> None:
    assert speed(optimized(tried=tried(system_calls="recv,send@batch")), LOAD)[2:] == [
        "  2.70 (2.55 to 2.85, 95 % confidence) times as fast",
        "  system calls recv,send batched by io_uring",
        "  to start it so: corehop run",
    ]


@pytest.mark.parametrize("best", [0, None])
def test_where_nothing_gains_the_reason_is_shown(best: int | None) -> None:
    why = "the best of 2 plans measured 0.98"
    none = optimized(gain=False, why_not=why, command=None, best=best, ratio=None, interval=None)
    assert speed(none, LOAD)[2:] == [f"  no speedup found: {why}"]
