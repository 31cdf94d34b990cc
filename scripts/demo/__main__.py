"""The demo's steps: each is a function of `stages`, and each ending one of `ending`."""

from __future__ import annotations

import argparse
import signal
import sys

import demo
from demo import ending, exits, stages, summary
from demo.kept import Kept
from demo.layout import Layout, Settings


def main() -> int:
    """Run the demo and give its exit code."""
    settings = read_command_line()
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, exits.interrupt)
    layout = Layout.of_checkout()
    kept = Kept(layout.scratch)
    return ending.ended(layout, settings, lambda do: pipeline(do, kept), kept)


def pipeline(do: stages.Stages, kept: Kept) -> None:
    """Run all steps, from an empty folder to the verdict; save each result as soon as it exists."""
    mariadb = measure_mariadb(do, kept)
    kept.show(mariadb.lines())
    do.draw(max(mariadb.partitions))
    load = do.redis_load()
    redis = do.optimize(load)
    kept.keep("redis", do.layout.optimized_result)
    kept.show(summary.speed(redis, load.title))
    kept.show(summary.places(do.layout, list(mariadb.partitions)))
    do.steps.at = "comparing mariadbd's runs"
    mariadb.judge()


def measure_mariadb(do: stages.Stages, kept: Kept) -> summary.Report:
    """Split mariadbd, run it patched, and write the page after each step."""
    layout = do.layout
    do.load_database()
    mariadb = summary.Report(layout, do.run("unpatched", server=None, backend=None))
    kept.keep("unpatched", layout.run("unpatched"), mariadb.lines())
    mariadb.recorded = do.record(mariadb.reference)
    kept.keep("recorded", layout.recorded, mariadb.lines())
    for cores in (2, 4):
        mariadb.partitions[cores] = do.partition(cores)
        kept.keep(f"partition_{cores}", layout.partition(cores), mariadb.lines())
        mariadb.predictions[cores] = do.predict(cores)
        kept.keep(f"replay_{cores}", layout.replay(cores), mariadb.lines())
    for cores in mariadb.partitions:
        patched = do.patch(cores)
        idle = do.run(f"idle-{cores}", server=patched, backend="count", transactions=0)
        kept.keep(f"idle_{cores}", layout.run(f"idle-{cores}"), mariadb.lines())
        backends = do.backends(cores)
        for backend in backends:
            run = do.run(f"{backend}-{cores}", server=patched, backend=backend)
            mariadb.runs.append(summary.PatchedRun(cores, backend, run, idle))
            kept.keep(f"{backend}_{cores}", layout.run(f"{backend}-{cores}"), mariadb.lines())
        if "affinity" not in backends:
            mariadb.left_out.append(cores)
    kept.keep("unequal_tables", mariadb.unequal_tables(), mariadb.lines())
    return mariadb


def read_command_line() -> Settings:
    """Parse the command line; the defaults are those of `make demo`."""
    parser = argparse.ArgumentParser(
        prog="scripts/demo.sh",
        description=demo.__doc__,
        epilog=exits.CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    defaults = Settings()
    parser.add_argument("--transactions", type=int, default=defaults.transactions, metavar="N")
    parser.add_argument("--scale", type=int, default=defaults.scale, metavar="S")
    parser.add_argument("--seed", type=int, default=defaults.seed, metavar="N")
    options = parser.parse_args()
    return Settings(options.transactions, options.scale, options.seed)


if __name__ == "__main__":
    sys.exit(main())
