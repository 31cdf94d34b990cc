"""Keeps what a bench printed, and fills the pages with it.

    make bench-hop | tee output
    PYTHONPATH=scripts python3 -m figures keep hop --command 'make bench-hop' output
    make figures

exit code: 0 done, 1 a page was not as its figures are (--check) or prose cites a figure that its
page of notes does not have, 2 the input makes no sense
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from figures.cited import prose, uncited
from figures.kept import FOLDER, Run, WrongFiguresError, keep, read, run_from
from figures.pages import filled, pages


def main(arguments: list[str] | None = None) -> int:
    """Run the task on the command line."""
    options = command_line().parse_args(arguments)
    root = Path(__file__).resolve().parents[2]
    try:
        if options.task == "keep":
            run = run_from(options.output.read_text(encoding="utf-8"), options.command)
            print(keep(run, options.name, root / FOLDER))
            return 0
        return fill(root, only_check=options.check)
    except (WrongFiguresError, OSError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 2


def command_line() -> argparse.ArgumentParser:
    """Return the parser with the tasks and their options."""
    parser = argparse.ArgumentParser(prog="figures", description=__doc__)
    tasks = parser.add_subparsers(dest="task", required=True)
    keeping = tasks.add_parser("keep", help="keep what a bench printed")
    keeping.add_argument("name", help="how pages name it")
    keeping.add_argument("output", type=Path, help="a file with all that the bench printed")
    keeping.add_argument("--command", required=True, help="what printed it")
    filling = tasks.add_parser("fill", help="fill the pages with what is kept")
    filling.add_argument("--check", action="store_true", help="write nothing, fail if they differ")
    return parser


def fill(root: Path, *, only_check: bool) -> int:
    """Fill all pages, or report those that differ from their figures."""

    def run(name: str) -> Run:
        return read(name, root / FOLDER)

    stale = 0
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        try:
            wanted = filled(text, run)
        except WrongFiguresError as error:
            raise WrongFiguresError(f"{page.relative_to(root)}: {error}") from error
        if text == wanted:
            continue
        print(page.relative_to(root))
        stale += 1
        if not only_check:
            beside = page.with_suffix(".part")
            beside.write_text(wanted, encoding="utf-8")
            beside.replace(page)
    wrong = [f"{page.relative_to(root)}: {of}" for page in prose(root) for of in uncited(page)]
    for line in wrong:
        print(line)
    return 1 if wrong or (only_check and stale) else 0


if __name__ == "__main__":
    sys.exit(main())
