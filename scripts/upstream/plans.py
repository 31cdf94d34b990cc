"""Plans with as many hooks as possible: of all functions, and of all except the most called ones.

Adjacent functions are on different cores. Of every four functions, two migrate back when a call
returns, if they allow it, so that both modes occur in one server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import corehop_json
from corehop_json.patch import Unsafe
from corehop_symbolizer.functions import read_functions
from corehop_symbolizer.image import opened
from demo.layout import StepError
from demo.processes import Command, Keeper, Streams

CORES = 2
PATCHING_SECONDS = 300


@dataclass(frozen=True)
class Hook:
    """One function of a plan."""

    offset: int
    symbol: str
    core: int
    mode: str


@dataclass(frozen=True)
class Plan:
    """A plan for one program."""

    program: Path
    build_id: str
    hooks: tuple[Hook, ...]

    def without_the_busiest(self, calls: Mapping[int, int], most: int) -> Plan:
        """Remove as few hooks as possible, so that at most this number of calls remains."""
        kept: list[Hook] = []
        for hook in sorted(self.hooks, key=lambda hook: (calls.get(hook.offset, 0), hook.offset)):
            most -= calls.get(hook.offset, 0)
            if most < 0:
                break
            kept.append(hook)
        kept.sort(key=lambda hook: hook.offset)
        return Plan(self.program, self.build_id, tuple(kept))

    def text(self) -> str:
        """Return the text of the plan file."""
        lines = ["version = 1", 'machine = "any"', 'trace = "none"', f"cores = {CORES}", "seed = 1"]
        for hook in self.hooks:
            lines += [
                "",
                "[[function]]",
                f"module = {json.dumps(str(self.program))}",
                f'build_id = "{self.build_id}"',
                f"offset = {hook.offset}",
                f"symbol = {json.dumps(hook.symbol)}",
                f"core = {hook.core}",
                f'mode = "{hook.mode}"',
            ]
        return "\n".join(lines) + "\n"


class Patcher:
    """Patches a program with the `corehop` command."""

    def __init__(self, corehop: Path, keeper: Keeper) -> None:
        """Use this command."""
        self.corehop = corehop
        self.keeper = keeper

    def plan_of_all(self, program: Path) -> Plan:
        """Hook every function that can be hooked."""
        printed = self.run(["patch", "--list-unsafe", program, "--json"])
        found = corehop_json.parse(printed, Unsafe, f"corehop patch --list-unsafe {program}")
        if found.refusal:
            raise StepError(f"{program}: {found.refusal}")
        if found.build_id is None:
            raise StepError(f"{program} has no build id: link it with --build-id")
        refused = {function.offset for function in found.unsafe}
        one_way = {function.offset for function in found.call_unsafe}
        with opened(str(program)) as image:
            functions = [(f["offset"], f["symbol"]) for f in read_functions(image, None)]
        safe = [function for function in functions if function[0] not in refused]
        return Plan(program, found.build_id, hooks_of(safe, one_way))

    def patch(self, plan: Plan, output: Path) -> None:
        """Write the program patched with the plan, and verify it."""
        place = output.with_suffix(".toml")
        place.write_text(plan.text())
        self.run(["patch", "--plan", place, "-o", output, "--force"])
        self.run(["patch", "--verify", output, "--original", plan.program])

    def run(self, arguments: Command) -> str:
        """Run `corehop`."""
        command = [self.corehop, *arguments]
        return self.keeper.run(command, Streams("corehop"), seconds=PATCHING_SECONDS)


def hooks_of(functions: Sequence[tuple[int, str]], one_way: set[int]) -> tuple[Hook, ...]:
    """Return a hook with core and mode for each function."""

    def hook(index: int, offset: int, symbol: str) -> Hook:
        goes_back = index // CORES % 2 == 1 and offset not in one_way
        return Hook(offset, symbol, index % CORES, "call" if goes_back else "enter")

    return tuple(hook(index, *function) for index, function in enumerate(functions))
