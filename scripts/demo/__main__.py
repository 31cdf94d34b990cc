"""The demo's order of events; each step is one function of `stages`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from types import FrameType

from demo import stages, summary
from demo.layout import Layout, Settings, StepError
from demo.processes import Keeper

EXIT_FAILED = 7
EXIT_INTERRUPTED = 130


def main() -> int:
    """Run the demo and give its exit code; whatever happens, no process is left."""
    settings = read_command_line()
    layout = Layout.here()
    # Paths in traces and plans are relative to the checkout, which may be moved.
    os.chdir(layout.checkout)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, interrupt)
    try:
        with Keeper(layout.logs) as keeper:
            pipeline(stages.Stages(layout, settings, keeper))
    except StepError as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print("demo: interrupted; run it again to go on where it stopped", file=sys.stderr)
        return EXIT_INTERRUPTED
    return 0


def pipeline(do: stages.Stages) -> None:
    """Do everything, from an empty folder to the summary."""
    do.load_database()
    reference = do.run("unpatched", server=None, backend=None)
    recorded = do.record(reference)
    runs = []
    plans = {cores: do.partition(cores) for cores in (2, 4)}
    for cores in plans:
        patched = do.patch(cores)
        idle = do.run(f"idle-{cores}", server=patched, backend="count", transactions=0)
        for backend in do.backends(cores):
            run = do.run(f"{backend}-{cores}", server=patched, backend=backend)
            runs.append(summary.PatchedRun(cores, backend, run, idle))
    predictions = {cores: do.predict(cores) for cores in plans}
    do.draw(max(plans))
    mariadb = summary.Report(do.layout, reference, recorded, plans, predictions, runs)
    report = summary.Summary(mariadb, do.optimize())
    report.write()
    report.judge()


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
