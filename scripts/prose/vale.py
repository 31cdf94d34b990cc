"""Runs vale on files."""

from __future__ import annotations

import subprocess
from pathlib import Path

from suite.needs import kept
from suite.processes import ROOT

SETTINGS = ROOT / "scripts/vale/vale.ini"
# scripts/vale.sh builds it.
PROGRAM = kept() / "vale/vale"
RULES = ROOT / "scripts/vale/styles/corehop"


def findings(files: list[Path]) -> list[str]:
    """Return vale's findings, each `FILE:LINE:COLUMN:RULE:MESSAGE`."""
    command: list[str | Path] = [
        PROGRAM,
        "--no-global",
        "--config",
        SETTINGS,
        "--output=line",
        *files,
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1) or done.stderr:
        raise RuntimeError(f"vale failed: {done.stderr or done.stdout}")
    return sorted(done.stdout.splitlines())
