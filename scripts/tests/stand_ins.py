"""Shell scripts that stand in for programs, for tests of scripts."""

from __future__ import annotations

from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write an executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
