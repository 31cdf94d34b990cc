"""Skips completed steps: a step is complete while its outputs exist and its inputs are unchanged.

Inputs are files, compared by content, and settings. The stamp is written after the outputs, so an
interrupted step is repeated.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

Input = Path | str | int


class Steps:
    """The steps of a run of the demo."""

    def __init__(self, folder: Path) -> None:
        """Keep stamps in `folder`; `at` is the last step that was begun."""
        self.folder = folder
        self.at = "preparing"

    def step(
        self,
        name: str,
        title: str,
        inputs: Sequence[Input],
        outputs: Sequence[Path],
        work: Callable[[], None],
    ) -> None:
        """Do the work, unless it was done on the same inputs."""
        self.at = title
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = self.folder / name
        wanted = fingerprint(inputs)
        is_done = stamp.exists() and stamp.read_text() == wanted
        if is_done and all(output.exists() for output in outputs):
            print(f"demo: {title}: done before", file=sys.stderr)
            return
        print(f"demo: {title}", file=sys.stderr)
        stamp.unlink(missing_ok=True)
        for output in outputs:
            remove(output)
        work()
        stamp.write_text(wanted)


def fingerprint(inputs: Sequence[Input]) -> str:
    """Return a hash of the inputs: of a file's content, or of the text of anything else."""
    parts = []
    for item in inputs:
        if isinstance(item, Path):
            with item.open("rb") as stream:
                parts.append(hashlib.file_digest(stream, "sha256").hexdigest())
        else:
            parts.append(str(item))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
