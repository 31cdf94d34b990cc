"""Tables in pages equal those that benches printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from figures.__main__ import main
from figures.cited import uncited
from figures.gains import gains
from figures.kept import Run, WrongFiguresError, keep, read, run_from
from figures.pages import filled

PRINTED = """\
a: recording
2 CPUs Some Processor, L2 2048 KiB

meanwhile the CPUs were busy

name      ratio   interval
one        1.00   0.9-1.1
two        2.00   1.9-2.1

null: nothing

{"rows": [1, 2]}
"""


def test_the_pages_are_as_the_figures_kept_are() -> None:
    assert main(["fill", "--check"]) == 0


@pytest.mark.parametrize(
    ("prose", "wrong"),
    [
        ("The best of [ten](research/notes/it.md) is 2.08, or 2.1.", []),
        ("It took 4 minutes ([it](research/notes/it.md#rows)), 12 % more, of 19169 cycles.", []),
        ("The best of [ten](research/notes/it.md) is 2.09.", ["2.09"]),
        ("It took 13 % ([it](research/notes/it.md)).\n\nAnother has 17 %.", ["13"]),
        ("- one of 1.5\n- another ([it](research/notes/it.md)) of 19168", ["19168"]),
        ("The option `--gain 7.5` ([it](research/notes/it.md)), and:\n\n    9.9\n", []),
        ("Kept: [it](research/notes/it.md)\n<!-- bars: it -->\n7.7\n<!-- end of figures -->", []),
    ],
)
def test_figures_in_prose_are_on_the_page_it_links_to(
    tmp_path: Path, prose: str, wrong: list[str]
) -> None:
    notes = tmp_path / "research/notes/it.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("    gain  2.08\n    more  12 %\n    break-even  19 169\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(prose, encoding="utf-8")
    assert uncited(page) == [f"{figure} is not in it.md" for figure in wrong]


def test_of_what_a_bench_prints_tables_and_the_last_line_are_kept(tmp_path: Path) -> None:
    run = run_from(PRINTED, "make bench-it")
    table = ["name      ratio   interval", "one        1.00   0.9-1.1", "two        2.00   1.9-2.1"]
    machine = "2 CPUs Some Processor, L2 2048 KiB"
    assert run == Run("make bench-it", machine, table, {"rows": [1, 2]})
    keep(run, "it", tmp_path)
    assert read("it", tmp_path) == run
    assert [path.name for path in tmp_path.iterdir()] == ["it.json"]


def test_tables_with_one_heading_become_one() -> None:
    runs = {
        "a": Run("", "", ["name  x", "one   1"], None),
        "b": Run("", "", ["name  x", "two   2"], None),
        "c": Run("", "", ["other  y", "three  3"], None),
    }
    page = "Words.\n\n<!-- figures: a b c -->\nold\n<!-- end of figures -->\n\nMore.\n"
    expected = (
        "Words.\n\n<!-- figures: a b c -->\n\n    name  x\n    one   1\n    two   2\n\n"
        "    other  y\n    three  3\n\n<!-- end of figures -->\n\nMore.\n"
    )
    assert filled(page, runs.__getitem__) == expected
    assert filled(expected, runs.__getitem__) == expected


@pytest.mark.parametrize("output", ["", "no table\n", "{}\nand more\n"])
def test_what_no_bench_printed_is_refused(output: str) -> None:
    with pytest.raises(WrongFiguresError):
        run_from(output, "make bench-it")


def test_a_place_without_an_end_and_figures_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongFiguresError):
        filled("<!-- figures: a -->\n", lambda name: read(name, tmp_path))
    with pytest.raises(WrongFiguresError):
        filled("<!-- figures: a -->\n<!-- end of figures -->", lambda name: read(name, tmp_path))
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(WrongFiguresError):
        read("a", tmp_path)


def test_gains_are_the_best_and_the_worst_of_each_load_with_what_the_interval_says() -> None:
    def row(size: float, ratio: float, least: float, most: float) -> dict[str, object]:
        of = {"backend": "auto", "server": "redis", "load": "pages", "connections": 1}
        return {**of, "size_of_l2": size, "ratio": ratio, "interval": [least, most]}

    rows = [row(0.3, 1.1, 0.9, 1.2), row(0.7, 2.5, 2.0, 3.0), row(2.0, 0.9, 0.8, 0.99)]
    rows.append({**row(9.0, 9.0, 9.0, 9.0), "backend": "carrier"})
    calls = {"server": "apache2", "way": "batch", "connections": 16}
    servers = [{**calls, "ratio": 1.2, "interval": [0.8, 1.9]}]
    servers.append({**servers[0], "way": "yield"})
    assert gains([Run("", "", [], {"rows": rows, "servers": servers})]) == [
        "server    load    measured at   ratio   95 % interval   gain",
        "redis     pages   0.7 L2        2.50    2.00-3.00       yes",
        "redis     pages   2.0 L2        0.90    0.80-0.99       loss",
        "apache2           16 clients    1.20    0.80-1.90       none",
    ]
    assert gains([Run("", "", [], {"servers": servers})])[1].split("   ")[1] == "16 clients"
    with pytest.raises(WrongFiguresError):
        gains([Run("", "", [], None)])


def test_bars_have_one_scale() -> None:
    run = Run("", "", [], {"bars": [["one core", 100], ["core 0", 10]]})
    page = "<!-- bars: a -->\n<!-- end of figures -->\n"
    expected = (
        "<!-- bars: a -->\n\n"
        f"    one core  {'█' * 50} 100.0\n    core 0    █████ 10.0\n\n<!-- end of figures -->\n"
    )
    assert filled(page, lambda _name: run) == expected
    with pytest.raises(WrongFiguresError):
        filled(page, lambda _name: Run("", "", [], {"rows": []}))
