"""Links programs to the paths that a suite uses."""

from __future__ import annotations

from pathlib import Path


def place_link(place: Path, program: Path) -> None:
    """Link `place` to the program, and replace what was there."""
    place.unlink(missing_ok=True)
    place.symlink_to(program)
