"""Builds with clippy's compiler.

`cargo clippy` compiles everything once more, only for clippy's messages: a sixth of the whole
suite's time. clippy's compiler builds as the usual one does. It is set here as `cargo clippy` sets
it, for the crates of the workspace only (compile.sh). Its output is kept apart from that of `cargo
build`.

Each crate is compiled in one part, without incremental state and line tables: what Cargo keeps by
default to compile a changed crate faster makes the first build take half as long again.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from suite.processes import ROOT, Processes

BUILD = ["cargo", "build", "--workspace", "--locked"]
# How Cargo builds what is built once. Cargo.toml compiles dependencies in one part for all builds,
# so that they share them.
ONCE = {
    "CARGO_INCREMENTAL": "0",
    "CARGO_PROFILE_DEV_CODEGEN_UNITS": "1",
    "CARGO_PROFILE_DEV_DEBUG": "0",
}
# The plugin for QEMU 10. A build has one set of features, so the one above has QEMU 7.2's alone.
PLUGIN = ["cargo", "build", "--locked", "-p", "corehop-qemu-plugin", "--no-default-features"]
PLUGIN += ["--features", "api-v4", "--target-dir", "target/qemu10"]


@cache
def linted() -> dict[str, str]:
    """Return the variables that make cargo build this way, with warnings as errors."""
    asked = ["rustc", "--print", "sysroot"]
    sysroot = subprocess.run(asked, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return ONCE | {
        "RUSTC_WORKSPACE_WRAPPER": str(Path(__file__).with_name("compile.sh")),
        "CLIPPY_DRIVER": str(Path(sysroot.strip()) / "bin" / "clippy-driver"),
        "CLIPPY_ARGS": "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    }


def build(processes: Processes) -> int:
    """Build the tests and the programs that they run; return the exit code."""
    code = processes.run([*BUILD, "--lib", "--tests"], more=linted()) or processes.run(
        PLUGIN, more=ONCE
    )
    if code == 0:
        built = ROOT / "target/qemu10/debug/libcorehop_qemu_plugin.so"
        # The command looks for it here.
        shutil.copyfile(built, ROOT / "target/debug/libcorehop_qemu_plugin_v4.so")
    return code
