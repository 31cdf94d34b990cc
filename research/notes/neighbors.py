#!/usr/bin/env python3
"""What neighbors on the cores' other hardware threads cost, and what they leave of a split's gain.

    neighbors.py PLAN [STARTS]
    neighbors.py --measure PLAN [RUNS]

With --measure, `corehop measure` compares both servers in ten rounds, several times, and the table
has the least busy run first. Without it:

PLAN is a plan of `corehop optimize` for redis-server under loads/deep-lists. In a start, the
original and the server with the plan's hops (carrier) serve batches of a hundred requests in turn.
A request walks the lists A and B; the original is also sent requests that walk one list twice.
Before and after each turn, a core's independent additions per cycle are read on both CPUs (as in
crates/measure/src/machine/neighbors.rs). A core is taken for alone if it does 85 % of its best.
`corehop` is that of PATH. The machine needs two CPUs; nothing else may run.
"""

import ctypes
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bound

LOAD, REQUESTS, TURNS = "deep-lists", 100, 400
ALONE = 0.85
PROBE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
enum { READINGS = 9, ROUNDS = 256, CHAIN = 64, INDEPENDENT = 60 };
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
double width(int cpu)
{
    cpu_set_t before, one;
    double widths[READINGS];
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int k = 0; k < READINGS; k++) {
        uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, addend = 1;
        double start = now();
        for (int i = 0; i < ROUNDS; i++)
            __asm__ volatile(".rept 64\nadd %1, %0\n.endr" : "+r"(a) : "r"(addend));
        double middle = now();
        for (int i = 0; i < ROUNDS; i++)
            __asm__ volatile(".rept 10\nadd %6, %0\nadd %6, %1\nadd %6, %2\nadd %6, %3\n"
                             "add %6, %4\nadd %6, %5\n.endr"
                             : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f)
                             : "r"(addend));
        widths[k] = (middle - start) / CHAIN / ((now() - middle) / INDEPENDENT);
    }
    sched_setaffinity(0, sizeof before, &before);
    qsort(widths, READINGS, sizeof *widths, by_size);
    return widths[READINGS / 2];
}
"""


def probe(folder: Path) -> ctypes.CDLL:
    """Compile the readings."""
    library = folder / "probe.so"
    command: list[str | Path] = ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
    subprocess.run(command, input=PROBE, text=True, check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.width.restype = ctypes.c_double
    return loaded


def start(folder: Path, hooks: list[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start and fill a server."""
    folder.mkdir()
    path = folder / "socket"
    environment = os.environ | {
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
        "COREHOP_BACKEND": "carrier",
    }
    command: list[str | Path] = [*hooks, "redis-server", "--port", "0", "--save", ""]
    command += ["--unixsocket", path, "--dir", folder]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    while not path.exists() and running.poll() is None:
        time.sleep(0.05)
    fill: list[str | Path] = ["sh", bound.LOADS / LOAD / "fill.sh", path]
    subprocess.run(fill, check=True, stdout=subprocess.DEVNULL)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(path))
    return running, connection


Turn = tuple[list[float], dict[str, float]]


def turns(plan: str, folder: Path, read: ctypes.CDLL) -> list[Turn]:
    """Return the widths and the microseconds a request of each turn of a start."""
    first, second = bound.WALKS[LOAD]
    pairs = {"AB": (first, second), "AA": (first, first), "BB": (second, second)}
    batches = {name: bound.request(*pair) * REQUESTS for name, pair in pairs.items()}
    original, one = start(folder / "original", [])
    patched, two = start(folder / "patched", ["corehop", "run", "--plan", plan, "--"])
    sides = {"original": (one, "AB"), "split": (two, "AB"), "AA": (one, "AA"), "BB": (one, "BB")}

    def turn(number: int) -> Turn:
        order = list(sides.items())[:: 1 if number % 2 else -1]
        before = [read.width(cpu) for cpu in (0, 1)]
        times = {
            name: bound.seconds(server, batches[walks]) / REQUESTS * 1e6
            for name, (server, walks) in order
        }
        after = [read.width(cpu) for cpu in (0, 1)]
        return [min(pair) for pair in zip(before, after, strict=True)], times

    try:
        return [turn(number) for number in range(TURNS)]
    finally:
        for server in (original, patched):
            server.terminate()
            server.wait()


def medians(of: list[Turn]) -> dict[str, float]:
    """Return the medians of these turns: microseconds a request, and quotients."""
    times = {key: statistics.median(turn[1][key] for turn in of) for key in of[0][1]}
    ratio = statistics.median(turn[1]["original"] / turn[1]["split"] for turn in of)
    possible = 2 * times["original"] / (times["AA"] + times["BB"])
    return times | {"ratio": ratio, "bound": possible}


def rows(start: int, found: list[Turn]) -> list[dict[str, object]]:
    """Return a row by number of cores that were alone, and one for all turns."""
    best = max(statistics.quantiles([width for turn in found for width in turn[0]], n=20))
    alone = [sum(width > ALONE * best for width in turn[0]) for turn in found]
    groups = {
        str(cores): [turn for turn, count in zip(found, alone, strict=True) if count == cores]
        for cores in (2, 1, 0)
    }
    return [
        {"start": start, "alone": name, "turns": len(of)} | (medians(of) if len(of) >= 10 else {})
        for name, of in (groups | {"all": found}).items()
    ]


def line(row: dict[str, object]) -> str:
    """Format a row."""
    head = f"{row['start']:>5}{row['alone']:>13}{row['turns']:>7}"
    if "ratio" not in row:
        return head
    times = "".join(f"{row[key]:>10.1f}" for key in ("original", "split", "AA", "BB"))
    return f"{head}{times}{row['ratio']:>8.3f}{row['bound']:>8.3f}"


def machine() -> str:
    """Describe the machine."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    l2 = Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text(encoding="utf-8")
    l2 = l2.strip().removesuffix("K")
    return f"{os.cpu_count()} CPUs {model}, L2 {l2} KiB, Linux {platform.release()}"


def measured(plan: str) -> tuple[float, float, float, float]:
    """Measure once; return the share of readings with a busy neighbor, and the ratio."""
    scripts = bound.LOADS / LOAD
    command = ["corehop", "measure", "-q", "--json", "--rounds", "10", "--plan", plan]
    command += ["--throughput", "([0-9.]+) requests per second"]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        command += ["--prepare", f"sh {scripts}/fill.sh {path}"]
        command += ["--load", f"sh {scripts}/drive.sh {path}", "--", "redis-server", "--port", "0"]
        command += ["--unixsocket", path, "--save", "", "--dir", folder]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    told = json.loads(output)
    neighbors = told["neighbors"] or {"busy_share": 0.0}
    return neighbors["busy_share"], told["ratio"], *told["interval"]


def measure(plan: str, runs: int) -> None:
    """Print the runs, the least busy first."""
    print(machine(), "\n\nruns of ten rounds\n", sep="")
    print(f"{'busy readings':>14}{'ratio':>8}{'interval':>14}")
    found = sorted(measured(plan) for _ in range(runs))
    for share, ratio, low, high in found:
        print(f"{100 * share:>12.0f} %{ratio:>8.3f}{low:>8.3f}-{high:.3f}")
    keys = ("busy_share", "ratio", "low", "high")
    print("\n" + json.dumps({"rows": [dict(zip(keys, run, strict=True)) for run in found]}))


def main() -> None:
    """Print the medians by the number of cores that were alone, or of measurements."""
    match sys.argv[1:]:
        case ["--measure", plan, *runs]:
            measure(plan, int(runs[0]) if runs else 12)
            return
        case [plan, *starts]:
            pass
        case _:
            raise SystemExit(__doc__)
    bound.REQUESTS = REQUESTS
    print(machine(), "\n\nmicroseconds a request\n", sep="")
    heads = "".join(f"{name:>10}" for name in ("original", "split", "AA", "BB"))
    print(f"{'start':>5}{'cores alone':>13}{'turns':>7}{heads}{'ratio':>8}{'bound':>8}")
    printed = []
    for number in range(int(starts[0]) if starts else 5):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            found = turns(plan, folder, probe(folder))
        for row in rows(number + 1, found):
            print(line(row), flush=True)
            printed.append(row)
    print("\n" + json.dumps({"rows": printed}))


if __name__ == "__main__":
    main()
