"""The output of one run of a bench, kept as JSON.

A bench prints tables for people, and one JSON object as its last line. Both are kept, with the
command and the line about the machine, so that a figure in a page can be traced to a run.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = Path("research/notes/figures")

# Lines of a table have columns, with more space between them than between words.
COLUMNS = re.compile(r"\S {2,}\S")
LEAST_LINES = 2
MACHINE = re.compile(r"^\d+ CPUs? ", re.ASCII)


class WrongFiguresError(Exception):
    """The input is no output of a bench, or a page does not fit the kept figures."""


@dataclass(frozen=True)
class Run:
    """One run of a bench."""

    command: str
    machine: str
    table: list[str]
    figures: Any


def run_from(output: str, command: str) -> Run:
    """Split the output of a bench into the lines of its tables and the object of the last line."""
    lines = [line.rstrip() for line in output.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    try:
        figures = json.loads(lines[-1] if lines else "")
    except json.JSONDecodeError as error:
        raise WrongFiguresError("the last line is not the JSON that a bench ends with") from error
    machine = next((line for line in lines if MACHINE.match(line)), "")
    return Run(command, machine, table_of(lines[:-1]), figures)


def table_of(lines: list[str]) -> list[str]:
    """Return the paragraphs that are tables, with a blank line between them."""
    table: list[str] = []
    for paragraph in paragraphs(lines):
        rows = [line for line in paragraph if COLUMNS.search(line)]
        if len(rows) < LEAST_LINES:
            continue
        if table:
            table.append("")
        table.extend(rows)
    return table


def paragraphs(lines: list[str]) -> list[list[str]]:
    """Split lines at blank lines."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return found


def keep(run: Run, name: str, folder: Path) -> Path:
    """Write a run under its name, atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(asdict(run), indent=1) + "\n", encoding="utf-8")
    beside.replace(path)
    return path


def read(name: str, folder: Path) -> Run:
    """Return the run of this name."""
    path = folder / f"{name}.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Run(**kept)
    except FileNotFoundError as error:
        raise WrongFiguresError(f"{path}: there are no figures of this name") from error
    except (json.JSONDecodeError, TypeError) as error:
        raise WrongFiguresError(f"{path}: not a file that `keep` wrote") from error
