#!/usr/bin/env python3
"""What a hop by sched_setaffinity costs, by how long its CPU was idle before.

    hop_idle.py [ROUNDS]

One thread works for some time on a CPU, then moves to the other, and so on. The CPU that it moves
to was idle since it left it. The table has the times of the calls. Nothing else may run.
"""

import json
import os
import statistics
import sys
import time

import running

PHASES_US = [0, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]
# Of each phase and round: at least so many hops, and more of short phases.
HOPS, ROUND_US = 100, 200_000


def hop_us(cpu: int) -> float:
    """Move to a CPU; return how long that took."""
    began = time.perf_counter_ns()
    os.sched_setaffinity(0, {cpu})
    return (time.perf_counter_ns() - began) / 1000


def work(us: int) -> None:
    """Work for some time."""
    end = time.perf_counter_ns() + us * 1000
    while time.perf_counter_ns() < end:
        pass


def main() -> None:
    """Print the table, and the figures as JSON."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    cpus = sorted(os.sched_getaffinity(0))[:2]
    hops: dict[int, list[float]] = {phase: [] for phase in PHASES_US}
    for _ in range(rounds):
        for phase, of in hops.items():
            count = max(HOPS, min(20 * HOPS, ROUND_US // max(phase, 1)))
            for number in range(count):
                work(phase)
                of.append(hop_us(cpus[number % 2]))
    print(f"{running.machine()}, {rounds} rounds\n")
    print(
        f"{'idle before, us':<18}{'hops':>8}{'median, us':>12}{'quarter':>10}{'to':>8}{'mean':>8}"
    )
    rows = []
    for phase, of in hops.items():
        low, median, high = statistics.quantiles(of, n=4)
        mean = statistics.fmean(of)
        print(f"{phase:<18}{len(of):>8}{median:>12.1f}{low:>10.1f}{high:>8.1f}{mean:>8.1f}")
        row = {"idle_us": phase, "hops": len(of), "median_us": median, "mean_us": mean}
        rows.append({**row, "quartiles_us": [low, high]})
    print("\n" + json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
