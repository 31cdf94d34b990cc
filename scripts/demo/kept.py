"""Results, written as soon as they are measured: a later failure loses none of them.

report.json has a key for each result, and report.txt the page so far. Both are replaced atomically,
so neither is ever incomplete.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from demo.layout import Layout


class Kept:
    """The two files of a run of the demo."""

    def __init__(self, folder: Path) -> None:
        """Write both in `folder`; files of an earlier run stay until the first result."""
        self.results = folder / "report.json"
        self.page = folder / "report.txt"
        self.contents: dict[str, object] = {}
        self.lines: list[str] = []

    def keep(self, name: str, result: object, page: list[str] | None = None) -> None:
        """Add a result, or the JSON file with it; `page` is the page with all results."""
        if isinstance(result, Path):
            result = msgspec.Raw(result.read_bytes())
        self.contents[name] = result
        text = msgspec.json.format(msgspec.json.encode(self.contents), indent=1)
        replace(self.results, text + b"\n")
        if page is not None:
            self.write([*self.lines, *page])

    def show(self, lines: list[str]) -> None:
        """Print a part of the page, and add it to the file."""
        self.lines += lines
        self.write(self.lines)
        print("\n".join(lines), flush=True)

    def write(self, lines: list[str]) -> None:
        """Write the page."""
        replace(self.page, ("\n".join(lines) + "\n").encode())

    def described(self, layout: Layout) -> str:
        """Return the results of this run, and the file with them."""
        place = layout.short(self.results)
        if self.contents:
            return f"{place} has {', '.join(self.contents)}"
        return "nothing was measured" + (
            f", {place} is of an earlier run" if self.results.exists() else ""
        )


def replace(place: Path, contents: bytes) -> None:
    """Write a file atomically, or keep the old one."""
    new = place.with_suffix(place.suffix + ".new")
    new.write_bytes(contents)
    new.replace(place)
