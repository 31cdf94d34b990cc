"""The page that compares: which server gains on which machine, and all rows below.

It contains its style and script and makes no network requests. A cell of the comparison is the best
result for a trace on a machine, over cores, objectives, and backends: fewest cycles, as counted by
the verdict of a search. A gain for which `corehop partition` would not write a plan does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from corehop_fleet.console import inert
from corehop_fleet.store import Store

TEMPLATE = Path(__file__).with_name("page.html")
BACKENDS = ("carrier", "affinity")

# At this decrease or more, a cell has the strongest color.
STRONGEST_PERCENT = 30.0

Columns = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """The best result for one trace on one machine."""

    kind: str
    text: str
    below: str
    hint: str
    strength: float = 0.0


def write(rows: list[Columns], name: str, store: Store) -> Path:
    """Write the page into the store."""
    path = store.folder / "index.html"
    store.write(path, rendered(rows, name).encode())
    return path


def rendered(rows: list[Columns], name: str) -> str:
    """Return the page."""
    machines = sorted({row["machine"] for row in rows})
    lines = sorted({(row["server"], row["trace"], row["trace_url"]) for row in rows})
    cells: dict[tuple[str, str], list[Columns]] = {}
    for row in rows:
        cells.setdefault((row["trace_url"] + row["server"], row["machine"]), []).append(row)
    matrix = [
        (server, trace, [cell(cells.get((url + server, machine), [])) for machine in machines])
        for server, trace, url in lines
    ]
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["change"] = change
    environment.filters["inert"] = lambda value: "" if value is None else inert(str(value))
    counts = {status: number(rows, status) for status in ("done", "failed", "missing")}
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        name=name,
        verdict=verdict(matrix),
        counts=counts,
        machines=machines,
        matrix=matrix,
        rows=rows,
        failed=[row for row in rows if row["status"] == "failed"],
        versions=sorted({row["corehop"] for row in rows}),
        options=sorted({row["options"] for row in rows}),
    )


def number(rows: Iterable[Columns], status: str) -> int:
    """Return the number of rows with a status."""
    return sum(row["status"] == status for row in rows)


def verdict(matrix: list[tuple[str, str, list[Cell]]]) -> str:
    """Return the page's first sentence."""
    kinds = [cell.kind for _, _, cells in matrix for cell in cells]
    judged = sum(kind in ("gain", "none") for kind in kinds)
    gains = kinds.count("gain")
    if not gains:
        return f"Splitting pays for none of {judged} pairs of trace and machine that were searched."
    return f"Splitting pays for {gains} of {judged} pairs of trace and machine that were searched."


def cell(rows: list[Columns]) -> Cell:
    """Return the best of these rows."""
    done = [row for row in rows if row["status"] == "done"]
    if not done:
        for kind, text in [
            ("failed", "failed"),
            ("missing", "not done"),
            ("impossible", "\N{EN DASH}"),
        ]:
            said = [row["error"] or "" for row in rows if row["status"] == kind]
            if said:
                return Cell(kind, text, "", inert(said[0]))
        return Cell("missing", "not done", "", "")
    best = min(done, key=lambda row: (row["against"] is not None, cycles(row)))
    ratio, backend = cycles(best)
    below = f"{best['cores']} cores, {best['objective']}"
    if best["against"] is not None or ratio >= 1.0:
        why = best["against"] or "no way to hop saves cycles"
        return Cell("none", "no gain", "", inert(f"{why}: {best['verdict']} ({below})"))
    strength = min(1.0, (1.0 - ratio) * 100.0 / STRONGEST_PERCENT)
    text = f"{change(ratio)}"
    return Cell("gain", text, f"{below}, {backend}", inert(best["verdict"]), round(strength, 2))


def cycles(row: Columns) -> tuple[float, str]:
    """Return the fewest cycles of a row, as a share of one core's, and their backend."""
    ratios = [(row[f"cycles_ratio_{backend}"], backend) for backend in BACKENDS]
    return min((pair for pair in ratios if pair[0] is not None), default=(1.0, ""))


def change(ratio: float | None) -> str:
    """Format a ratio as a change in percent."""
    if ratio is None:
        return ""
    return f"{(ratio - 1.0) * 100.0:+.1f} %".replace("-", "\N{MINUS SIGN}")
