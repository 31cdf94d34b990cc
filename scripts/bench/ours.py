"""The corehop part of the bench: a recording, plans, and timed replays.

The replays are those of benches/replay.rs; this module runs it and reads the object that it prints.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.layout import MACHINE, Layout, Settings, StepError
from demo.processes import Command, Keeper, Streams

BENCH = ("cargo", "bench", "--quiet", "--locked", "--bench", "replay", "--")
CORES = 4
LONGEST_SECONDS = 3600

PYCACHESIM_REQUESTS = "0-9"
"""Requests of the sample for pycachesim, which wants its addresses in memory."""


def recording(layout: Layout, keeper: Keeper) -> Path:
    """Return the demo's recording; if it does not exist, make it with the demo's steps."""
    if not layout.trace.exists():
        # This needs packages. Without them, the bench still measures the bundled sample.
        from demo.stages import Stages  # noqa: PLC0415

        do = Stages(layout, Settings(), keeper)
        do.load_database()
        do.record(do.run("unpatched", server=None, backend=None))
    return layout.trace


@dataclass(frozen=True)
class Bench:
    """Runs corehop and its benchmark; plans stay in `scratch` for inspection."""

    layout: Layout
    keeper: Keeper
    scratch: Path

    def figures(self, name: str, trace: Path, repeats: int) -> dict[str, Any]:
        """Find a plan, and time replays with it."""
        plan = self.scratch / f"{name}.toml"
        print(f"bench: {name}: a plan for {CORES} cores", file=sys.stderr)
        command: Command = (
            *(self.layout.corehop, "partition", trace, "--cores", str(CORES)),
            # Replays take as long with a plan that gains nothing.
            *("--machine", MACHINE, "-o", plan, "--force", "--ignore-verdict"),
        )
        self.run(command)
        print(f"bench: {name}: replays, {repeats} of each kind", file=sys.stderr)
        return read(self.run((*BENCH, trace, plan, str(repeats))))

    def connections(self, repeats: int) -> dict[str, Any]:
        """Time the connections of the bundled sample with several connections."""
        print(f"bench: connections: replays, {repeats} of each kind", file=sys.stderr)
        return read(self.run((*BENCH, "--connections", str(repeats))))

    def lackey(self, trace: Path, text: Path) -> Path:
        """Write the accesses of some requests as text."""
        command: Command = (
            *(self.layout.corehop, "export", "--format", "lackey", trace),
            *("--requests", PYCACHESIM_REQUESTS, "-o", text),
        )
        self.run(command)
        return text

    def run(self, command: Command) -> str:
        """Run a command with its messages on the terminal."""
        streams = Streams("bench.log", quiet=False)
        return self.keeper.run(command, streams, seconds=LONGEST_SECONDS)


def read(printed: str) -> dict[str, Any]:
    """Return the last object that the benchmark prints."""
    for line in reversed(printed.splitlines()):
        if line.startswith("{"):
            figures: dict[str, Any] = json.loads(line)
            return figures
    raise StepError("cargo bench printed no figures")
