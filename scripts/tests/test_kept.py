"""A demo that fails late loses nothing that was measured, and shows no traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from demo import __main__ as demo
from demo.kept import Kept
from demo.layout import Layout, StepError


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.logs.mkdir(parents=True)
    return layout


def kept(layout: Layout) -> Kept:
    kept = Kept(layout.scratch)
    kept.keep("unequal_tables", [])
    kept.show(["a page"])
    return kept


def test_results_are_there_as_soon_as_they_are_kept(layout: Layout) -> None:
    found = layout.scratch / "found.json"
    found.write_text('{"hops": 17}')
    results = kept(layout)
    results.keep("replay", found)
    results.show(["", "its end"])
    assert json.loads(results.results.read_text()) == {"unequal_tables": [], "replay": {"hops": 17}}
    assert results.page.read_text() == "a page\n\nits end\n"
    assert sorted(path.name for path in layout.scratch.iterdir()) == [
        "found.json",
        "logs",
        "report.json",
        "report.txt",
    ]


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        (StepError("mariadbd did not start"), 7, "demo: mariadbd did not start; "),
        (KeyError("core"), 10, "demo: a fault of the demo itself, KeyError: 'core'; see "),
    ],
)
def test_a_failure_is_one_sentence_that_names_what_is_left(
    layout: Layout,
    capsys: pytest.CaptureFixture[str],
    failure: Exception,
    code: int,
    said: str,
) -> None:
    assert demo.failed(failure, layout, kept(layout)) == code
    printed = capsys.readouterr().err
    assert printed.startswith(said)
    assert printed.endswith("scratch/demo/report.json has unequal_tables\n")
    assert printed.count("\n") == 1
    log = layout.logs / "fault.log"
    assert log.exists() is (code == demo.EXIT_FAULT)
    assert not log.exists() or "KeyError: 'core'" in log.read_text()
