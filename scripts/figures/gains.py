"""The gains and losses of real servers, short enough for the first page.

A bench measures several sizes or numbers of connections of one load. The first page has the best
and the worst of them, so a manual selection cannot omit servers without a gain. The rows are the
defaults for users: `auto` for servers with hops, `batch` for those with asynchronous calls.
"""

from __future__ import annotations

from typing import Any

from figures.kept import Run, WrongFiguresError

HEADING = ("server", "load", "measured at", "ratio", "95 % interval", "gain")


def gains(runs: list[Run]) -> list[str]:
    """Return a line for the best and the worst measurement of each server and load."""
    measured: dict[tuple[str, str], list[Measured]] = {}
    for run in runs:
        for one in measurements(run.figures):
            measured.setdefault((one.server, one.load), []).append(one)
    if not measured:
        raise WrongFiguresError("no run of these measured servers")
    rows: list[tuple[str, ...]] = [HEADING]
    for of_one_load in measured.values():
        ranked = sorted(of_one_load, key=lambda one: one.ratio, reverse=True)
        shown = ranked if len(ranked) == 1 else [ranked[0], ranked[-1]]
        rows.extend(one.row() for one in shown)
    return aligned(rows)


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Return the rows as lines, without columns that are empty below the heading."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    lines = zip(*columns, strict=True)
    return [
        "   ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


class Measured:
    """One ratio of a changed server's throughput to the original's."""

    def __init__(self, server: str, load: str, size: str, row: dict[str, Any]) -> None:
        """Read ratio and interval from a row of a bench."""
        self.server = server
        self.load = load
        self.size = size
        self.ratio: float = row["ratio"]
        self.least, self.most = row["interval"]

    def row(self) -> tuple[str, ...]:
        """Return the columns of HEADING."""
        interval = f"{self.least:.2f}-{self.most:.2f}"
        return (self.server, self.load, self.size, f"{self.ratio:.2f}", interval, self.gain())

    def gain(self) -> str:
        """Return whether the whole interval is above or below 1."""
        if self.least > 1:
            return "yes"
        return "loss" if self.most < 1 else "none"


def measurements(figures: object) -> list[Measured]:
    """Return the measurements of a run of `make bench-servers` or `make bench-syscalls`."""
    if not isinstance(figures, dict):
        return []
    found = []
    for row in figures.get("rows", []):
        if row["backend"] == "auto":
            size = "" if row["size_of_l2"] is None else f"{row['size_of_l2']} L2"
            found.append(Measured(row["server"], row["load"], size or clients(row), row))
    for row in figures.get("servers", []):
        if row["way"] == "batch":
            found.append(Measured(row["server"], "", clients(row), row))
    return found


def clients(row: dict[str, Any]) -> str:
    """Return the number of connections, with its unit."""
    number = row["connections"]
    return f"{number} client" if number == 1 else f"{number} clients"
