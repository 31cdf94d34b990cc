"""What the demo concludes from what its runs have left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from demo.layout import Layout, StepError
from demo.summary import PatchedRun, Report, Summary, speed

TABLES = {"item": {"rows": 3, "checksum": 17}, "stock": {"rows": 3, "checksum": 18}}
LOAD = {"committed": 45, "rolled_back": 1, "requests": 1000}


REDIS = {
    "gain": True,
    "ratio": 2.704,
    "interval": [2.551, 2.852],
    "confidence": 0.95,
    "command": "corehop run",
    "best": 0,
    "tried": [
        {
            "cores": 2,
            "functions": [
                {"core": 0, "symbol": "zsetLength"},
                {"core": 1, "symbol": "zrangebylexCommand"},
            ],
            "predicted": {"l2_misses_ratio": 0.004, "hops_per_request": 2.0},
        }
    ],
}


def facts(hops: int, **tables: Any) -> dict[str, Any]:
    return {"load": LOAD, "tables": TABLES | tables, "statistics": {"hops": hops}}


def counters(fetch: int, data: int) -> dict[str, Any]:
    level = {"accesses": 9000, "misses": fetch + data, "fetch_misses": fetch, "data_misses": data}
    return {"l1i": level, "l1d": level, "l2": level, "l3": level}


def report(run: dict[str, Any], checkout: Path = Path("/checkout")) -> Report:
    found = {
        "held_out": {"requests": 10, "baseline": counters(600, 400), "split": counters(200, 300)},
        "plan": [{"core": 1, "symbol": "_ZN3foo3barEi"}],
    }
    patched = [PatchedRun(2, "count", run, facts(5))]
    return Report(Layout(checkout), facts(0), facts(0), {2: found}, {2: {"hops": 2000}}, patched)


def test_equal_runs_pass_and_every_figure_is_shown() -> None:
    good = report(facts(2005))
    good.judge()
    page = "\n".join(good.lines())
    assert "46 transactions, 1000 requests" in page
    assert "L2                        100.0        50.0    -50.0 %" in page
    assert "of fetches               60.0        20.0    -66.7 %" in page
    assert "core 1 from foo::bar\n" in page
    assert "2 cores, count           2000     2000       2.00  agrees" in page
    assert "2 cores, affinity: left out, this machine has fewer CPUs" in page
    assert "2 tables, equal unpatched, recorded and in 1 patched runs" in page
    assert "scratch/demo/plan-2.toml" in "\n".join(good.places())


def test_a_table_that_differs_is_named_and_fails() -> None:
    bad = report(facts(2005, stock={"rows": 3, "checksum": 19}))
    assert "DIFFER from the unpatched run: count on 2 cores: stock" in bad.checksum_line()
    with pytest.raises(StepError, match="other tables"):
        bad.judge()


@pytest.mark.parametrize(
    ("hops", "agrees"), [(2045, True), (1965, True), (2046, False), (5, False)]
)
def test_hops_may_be_two_percent_off(hops: int, agrees: bool) -> None:
    judged = report(facts(hops))
    assert ("DIFFERS" in judged.hop_lines()[1]) is not agrees
    if not agrees:
        with pytest.raises(StepError, match="hopped"):
            judged.judge()


def test_the_report_is_kept_for_programs(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.logs.mkdir(parents=True)
    Summary(report(facts(2005), tmp_path), REDIS).write()
    assert '"hops": 2000' in (layout.scratch / "report.json").read_text()
    page = (layout.scratch / "report.txt").read_text()
    assert "scratch/demo/report.html" in page
    assert page.index("TPC-C on MariaDB") < page.index("Redis, deep pages")


def test_a_gain_is_told_with_its_interval_and_what_to_start() -> None:
    assert speed(REDIS)[1:] == [
        "  2.70 (2.55 to 2.85, 95 % confidence) times as fast on 2 cores",
        "  predicted -99.6 % L2 misses, 2.0 hops a request",
        "  core 0 from zsetLength",
        "  core 1 from zrangebylexCommand",
        "  to start it so: corehop run",
    ]


def test_where_nothing_pays_the_reason_is_told() -> None:
    none = {"gain": False, "why_not": "the best of 2 plans measured 0.98"}
    assert speed(none)[1:] == ["  nothing pays here: the best of 2 plans measured 0.98"]
