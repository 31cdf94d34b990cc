#!/usr/bin/env python3
"""How long a cache profile of redis takes: corehop's and cachegrind's.

    profile_times.py [ROUNDS]

redis-server serves the same load of redis-benchmark in both. corehop records all requests and
prints the profile of functions, lines, and objects. cachegrind simulates the caches meanwhile, and
cg_annotate prints functions and lines. corehop simulates xeon-e5-2620-v4, cachegrind its L1s and a
last level of 16 MiB. The second table has the replay and profiles of the round's trace, each on one
CPU. `corehop`, valgrind, redis-server, and redis-benchmark are those of PATH; nothing else may run.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import running

REQUESTS = 20_000
# Each of the two tests sends that many; the benchmark asks for the configuration first.
LOAD = ["-q", "-c", "4", "-r", "10000", "-t", "set,get", "-n", str(REQUESTS)]
RECORDED = 2 * REQUESTS
# Fewer lines are no table.
TABLE_LINES = 15
ON_ONE_CPU = ["taskset", "-c", "0"]
OF_A_TRACE = {
    "replay": ["replay"],
    "profile --by function": ["profile", "--by", "function"],
    "profile --by function,line,object": ["profile", "--by", "function,line,object"],
    "replay --tlb": ["replay", "--tlb"],
    "profile --by function --tlb": ["profile", "--by", "function", "--tlb"],
}


def serve(folder: Path, prefix: list[str]) -> None:
    """Start redis under a tool, drive the load, and stop it."""
    path = folder / "socket"
    server = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", ""]
    with running.served([*prefix, *server, "--dir", str(folder)], folder, path.exists) as tool:
        running.run(["redis-benchmark", "-s", str(path), *LOAD])
        stop = ["redis-cli", "-s", str(path), "shutdown", "nosave"]
        nothing = subprocess.DEVNULL
        subprocess.run(stop, check=False, stdout=nothing, stderr=nothing, timeout=60)
        tool.wait(timeout=running.LONGEST_S)


def run(command: list[str]) -> None:
    """Run a command that prints a table."""
    if len(running.run(command).splitlines()) < TABLE_LINES:
        raise SystemExit(f"{command} printed no table")


def record(folder: Path) -> Path:
    """Record the load; return the trace."""
    trace = folder / "trace"
    marker = ["--request-at", "processCommand", "--requests", str(RECORDED)]
    serve(folder, ["corehop", "record", "-q", "-o", str(trace), *marker, "--"])
    return trace


def by_corehop(folder: Path) -> None:
    """Record, and print the profile."""
    run(["corehop", "profile", str(record(folder)), "--by", "function,line,object"])


def by_cachegrind(folder: Path) -> None:
    """Simulate, and print the annotations."""
    out = str(folder / "cachegrind.out")
    caches = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=16777216,16,64"]
    serve(folder, ["valgrind", "-q", "--tool=cachegrind", f"--cachegrind-out-file={out}", *caches])
    run(["cg_annotate", out])


def seconds(work: Callable[[], None]) -> float:
    """Time some work."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def one_round() -> dict[str, float]:
    """Time everything once."""
    times = {}
    for name, tool in {"corehop": by_corehop, "cachegrind": by_cachegrind}.items():
        with tempfile.TemporaryDirectory() as folder:
            times[name] = seconds(partial(tool, Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        trace = record(Path(folder))
        for name, (subcommand, *options) in OF_A_TRACE.items():
            command = [*ON_ONE_CPU, "corehop", subcommand, str(trace), *options]
            times[name] = seconds(partial(run, command))
    return times


def table(title: str, names: list[str], rounds: list[dict[str, float]]) -> list[dict[str, object]]:
    """Print the medians of some work, and return them."""
    print(f"\n{title:<36}{'median':>8}{'least':>8}{'most':>8}{'of the first':>14}")
    rows: list[dict[str, object]] = []
    for name in names:
        of = [times[name] for times in rounds]
        ratio = statistics.median(times[name] / times[names[0]] for times in rounds)
        row = {"name": name, "median": statistics.median(of), "least": min(of), "most": max(of)}
        figures = "".join(f"{row[key]:>8.1f}" for key in ("median", "least", "most"))
        print(f"{name:<36}{figures}{ratio:>14.2f}")
        rows.append({**row, "of_the_first": ratio})
    return rows


def main() -> None:
    """Print the medians."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{running.machine()}, {number} rounds")
    rounds = [one_round() for _ in range(number)]
    rows = table("seconds from start to table", ["corehop", "cachegrind"], rounds)
    rows += table("seconds of a trace on one CPU", list(OF_A_TRACE), rounds)
    print("\n" + json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
