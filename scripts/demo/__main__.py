"""The demo's order of events; each step is one function of `stages`.

Exit codes: 0 done, also where nothing makes redis faster; 2 usage; 7 a step failed, or the patched
server did not do what it should; 10 the demo itself is at fault; 130 interrupted. What was measured
by then is in scratch/demo/report.json and report.txt.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from types import FrameType

from corehop_json import BadOutputError
from demo import stages, summary
from demo.kept import Kept
from demo.layout import Layout, Settings, StepError
from demo.processes import Keeper

EXIT_FAILED = 7
EXIT_FAULT = 10
EXIT_INTERRUPTED = 130


def main() -> int:
    """Run the demo and give its exit code; whatever happens, no process is left."""
    settings = read_command_line()
    layout = Layout.here()
    # Paths in traces and plans are relative to the checkout, which may be moved.
    os.chdir(layout.checkout)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, interrupt)
    kept = Kept(layout.scratch)
    try:
        with Keeper(layout.logs) as keeper:
            pipeline(stages.Stages(layout, settings, keeper), kept)
    except KeyboardInterrupt:
        print("demo: interrupted; run it again to go on where it stopped", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as failure:
        return failed(failure, layout, kept)
    return 0


def failed(failure: Exception, layout: Layout, kept: Kept) -> int:
    """Say in one sentence what failed and what is left, and give the exit code."""
    left = f"{layout.short(kept.results)} has {kept.names()}"
    if isinstance(failure, StepError | BadOutputError):
        print(f"demo: {failure}; {left}", file=sys.stderr)
        return EXIT_FAILED
    log = layout.logs / "fault.log"
    log.write_text("".join(traceback.format_exception(failure)))
    what = f"{type(failure).__name__}: {failure}"
    place = layout.short(log)
    print(f"demo: a fault of the demo itself, {what}; see {place}; {left}", file=sys.stderr)
    return EXIT_FAULT


def pipeline(do: stages.Stages, kept: Kept) -> None:
    """Do everything, from an empty folder to the verdict; keep each result as it comes."""
    layout = do.layout
    do.load_database()
    reference = do.run("unpatched", server=None, backend=None)
    kept.keep("unpatched", layout.run("unpatched"))
    recorded = do.record(reference)
    kept.keep("recorded", layout.recorded)
    runs = []
    plans = {}
    for cores in (2, 4):
        plans[cores] = do.partition(cores)
        kept.keep(f"partition_{cores}", layout.partition(cores))
    for cores in plans:
        patched = do.patch(cores)
        idle = do.run(f"idle-{cores}", server=patched, backend="count", transactions=0)
        kept.keep(f"idle_{cores}", layout.run(f"idle-{cores}"))
        for backend in do.backends(cores):
            run = do.run(f"{backend}-{cores}", server=patched, backend=backend)
            kept.keep(f"{backend}_{cores}", layout.run(f"{backend}-{cores}"))
            runs.append(summary.PatchedRun(cores, backend, run, idle))
    predictions = {}
    for cores in plans:
        predictions[cores] = do.predict(cores)
        kept.keep(f"replay_{cores}", layout.replay(cores))
    do.draw(max(plans))
    mariadb = summary.Report(layout, reference, recorded, plans, predictions, runs)
    kept.keep("unequal_tables", mariadb.unequal_tables())
    kept.show(mariadb.lines())
    redis = do.optimize()
    kept.keep("redis", layout.optimized_result)
    kept.show(summary.speed(redis))
    kept.show(summary.places(layout, list(plans)))
    mariadb.judge()


def read_command_line() -> Settings:
    """Give what the user wants; the defaults are what `make demo` does."""
    parser = argparse.ArgumentParser(prog="scripts/demo.sh", description=__doc__)
    defaults = Settings()
    parser.add_argument("--transactions", type=int, default=defaults.transactions, metavar="N")
    parser.add_argument("--scale", type=int, default=defaults.scale, metavar="S")
    parser.add_argument("--seed", type=int, default=defaults.seed, metavar="N")
    options = parser.parse_args()
    return Settings(options.transactions, options.scale, options.seed)


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    """End on SIGTERM and SIGHUP as on Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
