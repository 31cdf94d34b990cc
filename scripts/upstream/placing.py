"""Putting programs where a suite looks for them."""

from __future__ import annotations

from pathlib import Path


def place_link(place: Path, program: Path) -> None:
    """Make `place` lead to the program, whatever was there."""
    place.unlink(missing_ok=True)
    place.symlink_to(program)
