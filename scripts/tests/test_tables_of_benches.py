"""All tables of the benches are kept, and each of their numbers is also in the JSON.

The texts are from short runs, with some rows left out.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bench.others import Result
from bench.report import CONNECTIONS, CONNECTIONS_MEMORY, PASSES, RATES, Report, Stream
from figures.kept import run_from
from figures.pages import filled

MACHINE = "2 CPUs Intel(R) Xeon(R) Processor, L2 2048 KiB, Linux 6.18"

HOP = """\
ns                                               quarter      median     quarter
hop, carrier spins                                 455.4       480.0       489.3
sched_setaffinity                                23707.3     23770.8     23869.3

hops a second                                    quarter      median     quarter
carrier, 1 thread                                1946063     1946064     1946065

of these medians                                              figure
sched_setaffinity to a hop to a carrier that spins                50
ns a hook adds to a call on the right core                       1.5
ns one at its return adds                                        3.0
"""

SEARCH = """\
435 splits of 30 functions, 2 cores           seconds  times as long
searched; 10 counted again in full                0.1              1
each replayed; extrapolated from 1                 51            417

requests  functions  cores   seconds      sets   misses  within
       2         30      2       0.1       870    13246  proven optimal
       4         80      8      60.2      9871    26012  0.7 %
"""

RECORDING = """\
redis             median          least-most  to bare QEMU  to native
native              11.9           11.6-12.3         0.39x       1.0x
1 in 100           318.3         300.1-401.9        10.57x      26.8x
  of it server     384.2                            12.76x
bytes/access       0.073
"""

FIGURES: dict[str, tuple[str, Any]] = {
    "hop": (
        HOP,
        {
            "quartiles": {
                "carrier_hop_ns": [455.408, 480.025, 489.256],
                "sched_setaffinity_ns": [23707.345, 23770.808, 23869.273],
                "carrier_hops_per_s_1": [1946062.9, 1946063.9, 1946064.9],
            },
            "affinity_to_hop": 49.52,
            "hook_ns": 1.509,
            "return_hook_ns": 2.983,
        },
    ),
    "search": (
        SEARCH,
        {
            "checked_splits": 10,
            "exhaustive3_functions": 30,
            "exhaustive3_seconds": 0.122,
            "exhaustive3_splits": 435,
            "naive_seconds_extrapolated": 50.99,
            "naive_splits": 1,
            "speedup_over_naive": 417.05,
            "growth": [
                {"requests": 2, "functions": 30, "cores": 2, "seconds": 0.117, "sets": 870}
                | {"misses": 13246, "gap_percent": 0.0},
                {"requests": 4, "functions": 80, "cores": 8, "seconds": 60.2, "sets": 9871}
                | {"misses": 26012, "gap_percent": 0.66},
            ],
        },
    ),
    "recording": (
        RECORDING,
        {
            "redis": {
                "native_us": 11.88,
                "native_least_us": 11.62,
                "native_most_us": 12.31,
                "native_ratio": 0.3948,
                "native_to_native": 1.0,
                "1_in_100_us": 318.2531,
                "1_in_100_least_us": 300.08,
                "1_in_100_most_us": 401.91,
                "1_in_100_ratio": 10.571,
                "1_in_100_to_native": 26.78,
                "server_us": 384.199,
                "server_ratio": 12.762,
                "bytes_per_access": 0.07313,
            }
        },
    ),
}


def numbers(figures: Any) -> list[float]:
    """Return all numbers of an object."""
    if isinstance(figures, dict):
        return [number for value in figures.values() for number in numbers(value)]
    if isinstance(figures, list):
        return [number for value in figures for number in numbers(value)]
    return [float(figures)]


def is_rounded(shown: str, of: list[float]) -> bool:
    decimals = len(shown.partition(".")[2])
    return any(f"{number:.{decimals}f}" == shown for number in of)


@pytest.mark.parametrize("name", FIGURES)
def test_all_rows_are_kept_and_the_object_has_every_number_of_theirs(name: str) -> None:
    table, figures = FIGURES[name]
    said = f"{MACHINE}\nwhat it is, in words\n\n{table}\nothers say 37x of themselves\n\n"
    run = run_from(said + json.dumps(figures) + "\n", f"make bench-{name}")
    assert run.machine == MACHINE
    assert run.table == table.splitlines()
    assert run.figures == figures
    known = numbers(figures)
    for line in run.table:
        title, *columns = re.split(r" {2,}", line.strip())
        for shown in re.findall(r"\d+(?:\.\d+)?", " ".join(columns)):
            assert is_rounded(shown, known), f"{shown} in '{title}'"


def test_all_rows_of_replays_are_kept() -> None:
    memory = {"bytes_per_access_first": 0.5, "bytes_per_access_prepared": 2.25}
    growth = [{"accesses": 10**6 * times, "seconds": 0.25 * times} for times in (1, 4, 16)]
    rates = {source: 1.0 for _, source in RATES.values()}
    rest = {"accesses": 10, "growth": growth, "host": MACHINE}
    connections = {**dict.fromkeys(CONNECTIONS, 45.0), CONNECTIONS_MEMORY: 6.5}
    figures = rates | memory | dict.fromkeys(PASSES, 3.0) | rest
    streams = [Stream(name, figures) for name in ("sample", "tpcc")]
    others = (Result(None, "not installed"), Result(9.5))
    page = Report(streams, connections, *others, repeats=3).lines()
    run = run_from("\n".join(page), "make bench-replay")
    rows = 2 * (len(RATES) + len(growth) + len(PASSES) + len(memory)) + 2 + len(CONNECTIONS) + 1
    headings = 4
    blank = 3
    assert len(run.table) == rows + headings + blank
    assert run.machine == MACHINE
    assert run.figures["sample"]["host"] == MACHINE


def test_a_kept_run_fills_its_place() -> None:
    table, figures = FIGURES["hop"]
    run = run_from(f"{MACHINE}\n\n{table}\n{json.dumps(figures)}", "make bench-hop")
    page = filled("<!-- figures: hop -->\nold\n<!-- end of figures -->\n", {"hop": run}.__getitem__)
    shown = [line.removeprefix("    ") for line in page.splitlines()[2:-2]]
    assert shown == table.splitlines()
