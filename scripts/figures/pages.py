"""Pages whose tables are the tables of runs.

A page names the runs, and what stands between the two marks is theirs:

    <!-- figures: servers-redis servers-dnsmasq -->

        server     load   ...

    <!-- end of figures -->

Tables of several runs become one if their first lines, the headings, are equal. Two other words in
place of `figures` have the runs' JSON drawn instead: `gains` (gains.py) and `bars` (bars.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from figures.bars import bars
from figures.gains import gains
from figures.kept import Run, WrongFiguresError

PLACE = re.compile(
    r"^<!-- (?P<shape>figures|gains|bars): (?P<names>[a-z0-9 -]+) -->\n"
    r".*?^<!-- end of figures -->$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"^<!-- (figures|gains|bars):", re.MULTILINE)


def filled(page: str, run: Callable[[str], Run]) -> str:
    """Return the page with the tables of the runs."""

    def fill(place: re.Match[str]) -> str:
        shape, names = place["shape"], place["names"]
        lines = SHAPES[shape]([run(name) for name in names.split()])
        text = "\n".join(f"    {line}" if line else "" for line in lines)
        return f"<!-- {shape}: {names} -->\n\n{text}\n\n<!-- end of figures -->"

    text, places = PLACE.subn(fill, page)
    if places != len(MARK.findall(page)):
        raise WrongFiguresError("a place for figures has no end, or names no run")
    return text


def tables(runs: list[Run]) -> list[str]:
    """Return the tables as they were printed."""
    return joined([run.table for run in runs])


def joined(tables: list[list[str]]) -> list[str]:
    """Return several tables below each other, with a shared heading only once."""
    lines: list[str] = []
    for table in tables:
        if lines and table and table[0] == lines[0]:
            lines.extend(table[1:])
            continue
        if lines:
            lines.append("")
        lines.extend(table)
    return lines


def pages(root: Path) -> list[Path]:
    """Return the pages with figures."""
    folders = [root / "docs", root / "research"]
    found = [root / "README.md", *sorted(page for of in folders for page in of.rglob("*.md"))]
    return [page for page in found if MARK.search(page.read_text(encoding="utf-8"))]


SHAPES = {"figures": tables, "gains": gains, "bars": bars}
