"""Writes files atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_beside(target: Path, parts: Iterable[bytes | bytearray]) -> None:
    """Write the parts to a temporary file in the folder, then rename it over the target."""
    mask = os.umask(0)
    os.umask(mask)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines(parts)
        # mkstemp creates private files; the final file gets the usual permissions.
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
