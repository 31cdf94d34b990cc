"""Building with clippy in the compiler's place.

`cargo clippy` compiles everything once more, for nothing but what clippy says of it: a sixth of the
whole suite's time. clippy's compiler builds as the usual one does, and it is given here as `cargo
clippy` gives it, for the crates of the workspace alone. What is built so is kept beside what
`cargo build` makes.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from suite.processes import ROOT, Processes

BUILD = ["cargo", "build", "--workspace", "--locked"]


@cache
def linted() -> dict[str, str]:
    """Give the variables by which cargo builds so, and takes warnings for errors."""
    asked = ["rustc", "--print", "sysroot"]
    sysroot = subprocess.run(asked, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {
        "RUSTC_WORKSPACE_WRAPPER": str(Path(sysroot.strip()) / "bin" / "clippy-driver"),
        "CLIPPY_ARGS": "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    }


def build(processes: Processes) -> int:
    """Build what the tests are and what they run; the exit code."""
    return processes.run([*BUILD, "--lib", "--tests"], more=linted())
