"""mariadbd with delegated calls under the demo's transactions: counted and predicted hops.

There are two plans for the demo's own recording. One has the calls that `corehop partition
--delegate` finds. The other delegates all calls of functions of libc and other libraries that
mariadbd's own stubs make at most ten times in any request, all of them to one other core. As in the
demo, the hops of a run without transactions are subtracted, and completed steps of the demo are not
repeated.
"""

from __future__ import annotations

import sys
from pathlib import Path

import corehop_json
from corehop_json.candidates import Candidate, Candidates
from corehop_json.info import Info
from corehop_json.replay import Replayed
from demo import ending
from demo.layout import MACHINE, MARIADBD, Layout, Settings
from demo.stages import Stages
from demo.steps import Input

Arguments = list[str | Path]


def main() -> int:
    """Run both plans, and print a line for each."""
    return ending.ended(Layout.of_checkout(), Settings(), compare)


def compare(do: Stages) -> None:
    """Complete all missing steps, and count."""
    do.load_database()
    reference = do.run("unpatched", server=None, backend=None)
    do.record(reference)
    requests = reference.load.requests if reference.load else 0
    print(f"{requests} requests   functions  predicted  counted")
    for name, plan in (("found", found(do)), ("libc", of_libc(do))):
        predicted = hops(do, plan)
        server = patched(do, name, plan)
        idle = do.run(f"idle-{name}", server=server, backend="count", transactions=0)
        run = do.run(f"count-{name}", server=server, backend="count")
        counted = run.hops() - idle.hops()
        functions = len(run.statistics.functions) if run.statistics else 0
        print(f"{name:<15}{functions:>9}{predicted:>11}{counted:>9}")


def found(do: Stages) -> Path:
    """Search for the best function to delegate."""
    plan = do.layout.scratch / "plan-found.toml"
    command: Arguments = [do.layout.corehop, "partition", trace_of(do), "--delegate", "1"]
    inputs: list[Input] = [do.layout.corehop, do.layout.trace]

    def work() -> None:
        do.corehop([*command, "--ignore-verdict", "--machine", MACHINE, "-o", plan])

    do.steps.step("plan-found", "the best call to delegate", inputs, [plan], work)
    return plan


def of_libc(do: Stages) -> Path:
    """Plan the calls of all stubs of mariadbd that may be delegated."""
    plan = do.layout.scratch / "plan-libc.toml"
    listed = do.corehop([do.layout.corehop, "candidates", trace_of(do), "--delegate", "--json"])
    candidates = corehop_json.parse(listed, Candidates, "corehop candidates").candidates
    stubs = [of for of in candidates if of.unpatchable is None and is_own_stub(of)]
    printed = do.corehop([do.layout.corehop, "info", "--json", trace_of(do)])
    info = corehop_json.parse(printed, Info, "corehop info")
    build_id = next(of.build_id for of in info.modules if of.path == str(MARIADBD))
    lines = [f'version = 1\nmachine = "{MACHINE}"\ntrace = "{trace_of(do)}"\ncores = 2\nseed = 1']
    for stub in stubs:
        lines += ["[[function]]", f'module = "{MARIADBD}"', f'build_id = "{build_id}"']
        lines += [f"offset = {stub.offset}", f'symbol = "{stub.symbol}"']
        lines += ["core = 1", 'mode = "call"']
    plan.write_text("\n".join(lines) + "\n")
    return plan


def is_own_stub(candidate: Candidate) -> bool:
    """Return whether it is mariadbd's own stub for a function of another file."""
    return candidate.module == str(MARIADBD) and candidate.symbol.endswith("@plt")


def hops(do: Stages, plan: Path) -> int:
    """Count the hops of the plan over the whole recording."""
    command: Arguments = [do.layout.corehop, "replay", trace_of(do), "--machine", MACHINE]
    printed = do.corehop([*command, "--json", "--plan", plan])
    return corehop_json.parse(printed, Replayed, "corehop replay").hops


def patched(do: Stages, name: str, plan: Path) -> Path:
    """Write the server with these hooks."""
    server = do.layout.scratch / f"mariadbd.{name}"
    do.corehop([do.layout.corehop, "patch", "--plan", plan, MARIADBD, "-o", server, "--force"])
    return server


def trace_of(do: Stages) -> str:
    """Return the recording's path relative to the checkout."""
    return do.layout.short(do.layout.trace)


if __name__ == "__main__":
    sys.exit(main())
