#!/usr/bin/env python3
"""How fast BOLT makes servers with the profile of an exact trace: Debian's redis and memcached.

    bolt_speed.py [ROUNDS]

corehop records some requests of each server's load, and exports them for BOLT, which writes a
faster server. Then the original and the faster server serve the same load in turn, the server on
one CPU and the load on another. The table has the least, median, and most requests a second of
both, and the geometric mean of the rounds' ratios with its 95 % interval (bootstrap over rounds).
`corehop`, llvm-bolt-19, redis-server, redis-benchmark, and memcached are those of PATH; nothing
else may run.
"""

import json
import math
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import running

BOLT = ["llvm-bolt-19", "-pa", "--allow-stripped", "-jump-tables=none"]
BOLT += ["-reorder-blocks=ext-tsp", "-split-functions", "-dyno-stats"]
SERVER_CPU, LOAD_CPU = "1", "0"
RECORDED = 4000
KEYS = 10_000
VALUE = b"x" * 100
# Requests of memcached's client on their way at a time.
BATCH = 500
RESAMPLES = 10_000


def redis_load(path: Path, requests: int) -> float:
    """Send SETs, then GETs; return requests a second."""
    load = ["taskset", "-c", LOAD_CPU, "redis-benchmark", "-s", str(path), "-q", "-c", "4"]
    load += ["-P", "16", "-r", str(KEYS), "-t", "set,get", "-n", str(requests // 2)]
    ran = subprocess.run(load, check=True, capture_output=True, text=True, timeout=600)
    rates = [float(rate) for rate in re.findall(r"([\d.]+) requests per second", ran.stdout)]
    return statistics.harmonic_mean(rates[-2:])


def memcached_load(path: Path, requests: int) -> float:
    """Set all keys, then get keys; return gets a second."""
    os.sched_setaffinity(0, {int(LOAD_CPU)})
    random.seed(1)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        with client.makefile("rb") as answers:
            for key in range(KEYS if requests > RECORDED else BATCH):
                client.sendall(b"set key%06d 0 0 %d\r\n%s\r\n" % (key, len(VALUE), VALUE))
                answers.readline()
            keys = range(KEYS if requests > RECORDED else BATCH)
            drawn = [b"get key%06d\r\n" % key for key in random.choices(keys, k=BATCH * 20)]
            batches = [b"".join(drawn[of * BATCH : (of + 1) * BATCH]) for of in range(20)]
            answer = len(b"VALUE key000000 0 %d\r\n\r\nEND\r\n" % len(VALUE)) + len(VALUE)
            started = time.monotonic()
            for sent in range(0, requests, BATCH):
                client.sendall(batches[sent // BATCH % 20])
                if len(answers.read(answer * BATCH)) != answer * BATCH:
                    raise ConnectionError("memcached answered less")
            return requests / (time.monotonic() - started)


@dataclass(frozen=True)
class Server:
    """A server and its load."""

    name: str
    program: str
    arguments: Callable[[Path], list[str]]
    marker: str
    load: Callable[[Path, int], float]
    requests: int


SERVERS = [
    Server(
        "redis",
        "/usr/bin/redis-server",
        lambda path: ["--port", "0", "--unixsocket", str(path), "--save", ""],
        "processCommand",
        redis_load,
        1_000_000,
    ),
    Server(
        "memcached",
        "/usr/bin/memcached",
        lambda path: ["-s", str(path), "-t", "1", "-u", "root", "-m", "256"],
        "syscalls",
        memcached_load,
        400_000,
    ),
]


def faster(server: Server, folder: Path) -> tuple[Path, dict[str, float]]:
    """Record, export, and let BOLT write the faster server; return it, and BOLT's figures."""
    path, trace = folder / "socket", folder / "trace"
    record = ["corehop", "record", "-q", "-o", str(trace), "--request-at", server.marker]
    record += ["--requests", str(RECORDED), "--", server.program, *server.arguments(path)]
    with running.served(record, folder, path.exists):
        # The server ends with the last recorded request, before the load does.
        with suppress(subprocess.CalledProcessError, OSError):
            server.load(path, 4 * RECORDED)
        deadline = time.monotonic() + 120
        while not trace.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    profile, output = folder / "profile", folder / "faster"
    running.run(["corehop", "export", "--format", "bolt", str(trace), "-o", str(profile)])
    said = running.run([*BOLT, server.program, "-p", str(profile), "-o", str(output)])
    taken = re.findall(r"taken branches.*\(([+-][\d.]+)%", said)
    functions = re.search(r"(\d+) out of (\d+) functions in the binary", said)
    figures = {"taken_branches_percent": float(taken[0]) if taken else math.nan}
    if functions:
        figures["profiled_functions"], figures["functions"] = map(int, functions.groups())
    return output, figures


def rate(server: Server, program: str, folder: Path) -> float:
    """Start a server on its CPU, warm it up, and return its requests a second."""
    path = folder / "socket"
    path.unlink(missing_ok=True)
    command = ["taskset", "-c", SERVER_CPU, program, *server.arguments(path)]
    with running.served(command, folder, path.exists):
        server.load(path, server.requests // 4)
        return server.load(path, server.requests)


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """Return the geometric mean and its 95 % interval."""
    logarithms = [math.log(ratio) for ratio in ratios]
    random.seed(1)
    draws = range(RESAMPLES)
    means = [statistics.fmean(random.choices(logarithms, k=len(logarithms))) for _ in draws]
    means.sort()
    low, high = means[RESAMPLES // 40], means[-RESAMPLES // 40]
    return math.exp(statistics.fmean(logarithms)), math.exp(low), math.exp(high)


def main() -> None:
    """Print the table, and the figures as JSON."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    rows = {}
    for server in SERVERS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            output, figures = faster(server, folder)
            rates: dict[str, list[float]] = {"original": [], "faster": []}
            programs = {"original": server.program, "faster": str(output)}
            for number in range(rounds):
                # Each of both is first in half of the rounds.
                for which in list(programs)[:: 1 if number % 2 == 0 else -1]:
                    rates[which].append(rate(server, programs[which], folder))
                print(f"{server.name} {number + 1} of {rounds}", file=sys.stderr)
        ratios = [new / old for old, new in zip(rates["original"], rates["faster"], strict=True)]
        mean, low, high = interval(ratios)
        rows[server.name] = {**figures, "rates": rates, "ratio": mean, "interval": [low, high]}
    print(f"{running.machine()}, {rounds} rounds\n")
    print("requests a second: least, median, most")
    print(f"{'':<10}  {'original':>23}  {'by BOLT':>23}  {'ratio':>19}")
    for name, row in rows.items():
        spans = [
            f"{min(of):.0f} {statistics.median(of):.0f} {max(of):.0f}"
            for of in row["rates"].values()
        ]
        low, high = row["interval"]
        ratio = f"{row['ratio']:.3f} {low:.3f}-{high:.3f}"
        print(f"{name:<10}  {spans[0]:>23}  {spans[1]:>23}  {ratio:>19}")
    print()
    print(json.dumps({"rounds": rounds, "servers": rows}))


if __name__ == "__main__":
    main()
