"""Numbers as bars of text, which need no picture format and follow a light or a dark page."""

from __future__ import annotations

from figures.kept import Run, WrongFiguresError

LONGEST = 50


def bars(runs: list[Run]) -> list[str]:
    """Return a bar for each name and number in `bars` of the runs' figures, all to one scale."""
    try:
        named = [(str(name), float(number)) for run in runs for name, number in run.figures["bars"]]
    except (KeyError, TypeError, ValueError) as error:
        raise WrongFiguresError("a run for bars has no list `bars` of names and numbers") from error
    most = max(number for _, number in named)
    width = max(len(name) for name, _ in named)
    return [
        f"{name:<{width}}  {'█' * max(1, round(LONGEST * number / most))} {number:.1f}"
        for name, number in named
    ]
