"""The bench's order of events: recordings, plans, our replays, other simulators, the table.

It fails when something does not work, and never because something is slow.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path

from bench import others, ours
from bench.report import Report, Stream
from demo.exits import EXIT_FAILED, EXIT_INTERRUPTED, interrupt
from demo.layout import Layout, StepError
from demo.processes import Keeper

SAMPLE = Path("traces/samples/mariadb-tpcc.trace")


def main() -> int:
    """Run the bench and return its exit code; no process remains in any case."""
    options = read_command_line()
    layout = Layout.here()
    os.chdir(layout.checkout)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, interrupt)
    scratch = layout.checkout / "scratch" / "bench"
    scratch.mkdir(parents=True, exist_ok=True)
    temporary = scratch / "temporary"
    try:
        with Keeper(scratch) as keeper:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            report = measure(options, layout, keeper, temporary)
    except StepError as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    print("\n".join(report.lines()))
    return 0


def measure(options: argparse.Namespace, layout: Layout, keeper: Keeper, temporary: Path) -> Report:
    """Measure everything that can be measured here."""
    bench = ours.Bench(layout, keeper, temporary.parent)
    traces = {"sample": SAMPLE}
    if not options.sample_only:
        traces["tpcc"] = ours.recording(layout, keeper)
    streams = [
        Stream(name, bench.figures(name, trace, options.repeats)) for name, trace in traces.items()
    ]
    connections = bench.connections(options.repeats)
    text = bench.lackey(SAMPLE, temporary / "sample.lackey")
    pycachesim = others.Pycachesim(text)
    cachegrind = others.Cachegrind(text, keeper)
    for _ in range(options.repeats):
        print("bench: pycachesim, then cachegrind", file=sys.stderr)
        pycachesim.run()
        cachegrind.run()
    results = (pycachesim.result(), cachegrind.result())
    return Report(streams, connections, *results, options.repeats)


def read_command_line() -> argparse.Namespace:
    """Parse the command line; the defaults are those of `make bench-replay`."""
    parser = argparse.ArgumentParser(prog="scripts/bench.sh", description=__doc__)
    parser.add_argument("--repeats", type=positive, default=3, metavar="N")
    parser.add_argument("--sample-only", action="store_true", help="record nothing")
    return parser.parse_args()


def positive(text: str) -> int:
    """Read a number of repetitions."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main())
