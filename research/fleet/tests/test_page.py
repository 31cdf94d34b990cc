"""The page: the content of cells, and that names cannot control it."""

from __future__ import annotations

from typing import Any

import pytest

from corehop_fleet import page
from corehop_fleet.table import COLUMNS


def row(**given: Any) -> dict[str, Any]:
    """Return a row of the table: a gain, unless something else is given."""
    usual = {
        "server": "redis",
        "trace": "redis.trace",
        "trace_url": "/redis.trace",
        "machine": "large",
        "cores": 2,
        "objective": "l2",
        "options": "{}",
        "corehop": "corehop 1.2.3",
        "status": "done",
        "verdict": "-40.0 % L2 misses",
        "ratio": 0.6,
        "cycles_ratio_carrier": 0.85,
        "cycles_ratio_affinity": 1.02,
        "l2_misses_one_core": 1234567,
        "l2_misses_split": 740740,
        "hops_per_request": 2.0,
    }
    return dict.fromkeys(COLUMNS) | usual | given


def test_a_cell_is_the_best_that_was_found_for_a_trace_on_a_machine() -> None:
    rows = [row(), row(cores=4, cycles_ratio_carrier=0.75), row(cores=8, cycles_ratio_carrier=0.9)]
    text = page.rendered(rows, "sweep.toml")
    assert "Splitting pays for 1 of 1 pairs of trace and machine" in text
    assert "\N{MINUS SIGN}25.0 %" in text
    assert "4 cores, l2, carrier" in text
    assert "1 234 567" in text


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"against": "no speedup found"}, "none", "no gain"),
        ({"cycles_ratio_carrier": 1.1}, "none", "no gain"),
        ({"status": "failed", "error": "not a trace"}, "failed", "failed"),
        ({"status": "missing"}, "missing", "not done"),
        ({"status": "impossible", "error": "small has 2 cores"}, "impossible", "\N{EN DASH}"),
    ],
)
def test_a_cell_without_a_gain_says_what_it_is(
    given: dict[str, Any], kind: str, words: str
) -> None:
    cell = page.cell([row(**given)])
    assert (cell.kind, cell.text) == (kind, words)


def test_names_do_nothing_on_the_page() -> None:
    text = page.rendered([row(server="<script>alert(1)</script>", trace="a\u202eb\x1b")], "s")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "a\\u{202e}b\\u{1b}" in text
    assert "http" not in text
