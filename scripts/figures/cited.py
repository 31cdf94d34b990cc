"""Checks figures in prose: each must be on the page of notes that its paragraph links to.

A paragraph such as "they printed [gains from 2.08 to 2.29](research/notes/demo.md)" is
hand-written, so a new run on that page leaves it stale. Its figures are numbers with a decimal
point, numbers of at least three digits, and percentages. Rounding is allowed: 2.1 cites 2.08.
"""

from __future__ import annotations

import re
from pathlib import Path

LINK = re.compile(r"\]\((?P<path>[^)#\s]*research/notes/[^)#\s]+\.md)(?:#[^)\s]*)?\)")
NUMBER = re.compile(r"(?<![\w.])(?<!\w-)\d+(?:[ ,]\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
CODE = re.compile(r"^```.*?^```$|^ {4}.*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
# Fewer digits are a count, as in "two of 15 servers".
DIGITS = 3
PLACE = re.compile(r"^<!-- \w+: .*?^<!-- end of figures -->$", re.MULTILINE | re.DOTALL)


def prose(root: Path) -> list[Path]:
    """Return the pages that users read."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def uncited(page: Path) -> list[str]:
    """Return the figures that are missing on their page of notes, each with that page."""
    wrong = []
    for paragraph in paragraphs(page.read_text(encoding="utf-8")):
        notes = [page.parent / link["path"] for link in LINK.finditer(paragraph)]
        if not notes:
            continue
        kept = {number for note in notes for number in numbers(note.read_text(encoding="utf-8"))}
        words = re.sub(r"\]\([^)]*\)", "]", paragraph)
        names = " ".join(note.name for note in notes)
        wrong += [
            f"{figure} is not in {names}"
            for figure in figures(words)
            if not any(cites(figure, number) for number in kept)
        ]
    return wrong


def paragraphs(text: str) -> list[str]:
    """Return paragraphs and list items without code and generated tables."""
    words = CODE.sub("", PLACE.sub("", text))
    return re.split(r"\n\s*\n|\n(?=\s*[-|] )", words)


def numbers(text: str) -> set[str]:
    """Return all numbers of a page, without thousands separators."""
    return {re.sub("[ ,]", "", found) for found in NUMBER.findall(text)}


def figures(text: str) -> list[str]:
    """Return the numbers of a paragraph that a run must have printed."""
    found = []
    for place in NUMBER.finditer(text):
        number = re.sub("[ ,]", "", place[0])
        is_percent = text[place.end() :].lstrip().startswith("%")
        if "." in number or len(number) >= DIGITS or is_percent:
            found.append(number)
    return found


def cites(figure: str, number: str) -> bool:
    """Return whether the figure is the number, possibly rounded."""
    places = len(figure.partition(".")[2])
    return figure == number or f"{float(number):.{places}f}" == figure
