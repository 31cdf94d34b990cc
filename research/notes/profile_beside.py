#!/usr/bin/env python3
"""The misses of redis's and nginx's functions, by corehop and by cachegrind.

    profile_beside.py

The same load goes to the server under cachegrind and to the server that corehop records, one
request at a time. Both simulate the same caches: L1I and L1D of 32 KiB, 8 ways, and a last level of
16 MiB, 16 ways, LRU. cachegrind also counts the start of the server, so its counts of a run with
few requests are subtracted. Listed are the functions with most L1 misses, and as one those without
a symbol.
`corehop`, valgrind, redis-server, redis-benchmark, nginx, and ab are those of PATH.
"""

import json
import os
import platform
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PORT = 7391
FEW, MANY = 2_000, 22_000
LISTED = 8
# What cachegrind calls functions without a symbol.
NAMELESS = "???"
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=16777216,16,64"]
MACHINE = """
name = "cachegrind"
cores = 1
line_size_bytes = 64
memory_latency_cycles = 200
hop_cost_cycles = 0
l1i = { size_bytes = 32768, ways = 8, latency_cycles = 4 }
l1d = { size_bytes = 32768, ways = 8, latency_cycles = 4 }
l2 = { size_bytes = 16777216, ways = 16, latency_cycles = 12 }
"""
NGINX = """
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {{ }}
http {{
    access_log off; client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t;
    uwsgi_temp_path t; scgi_temp_path t;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""
# By function: misses of the L1I, the L1D, and the last level.
Misses = dict[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Server:
    """A server and its load."""

    name: str
    command: Callable[[Path], list[str]]
    marker: str
    load: Callable[[int], list[str]]


def nginx(folder: Path) -> list[str]:
    """Write nginx's files; return its command."""
    (folder / "page.html").write_text("x" * 1000)
    (folder / "nginx.conf").write_text(NGINX.format(port=PORT, folder=folder))
    return ["/usr/sbin/nginx", "-p", str(folder), "-c", "nginx.conf"]


def redis(_: Path) -> list[str]:
    """Return redis's command."""
    return ["/usr/bin/redis-server", "--port", str(PORT), "--save", ""]


SERVERS = [
    Server(
        "redis",
        redis,
        "processCommand",
        lambda number: (
            ["redis-benchmark", "-q", "-p", str(PORT), "-c", "1", "-r", "10000"]
            + ["-t", "set", "-n", str(number)]
        ),
    ),
    Server(
        "nginx",
        nginx,
        "ngx_http_process_request",
        lambda number: [
            "ab",
            "-q",
            "-k",
            "-n",
            str(number),
            f"http://127.0.0.1:{PORT}/page.html",
        ],
    ),
]


def listens() -> bool:
    """Return whether something listens on the port."""
    wanted = (
        f"0100007F:{PORT:04X} 00000000:0000 0A",
        f"00000000:{PORT:04X} 00000000:0000 0A",
    )
    return any(
        one in Path("/proc/net/tcp").read_text(encoding="ascii") for one in wanted
    )


@contextmanager
def served(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server; end it."""
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            while not listens():
                if server.poll() is not None:
                    raise SystemExit((folder / "log").read_text())
                time.sleep(0.05)
            yield server
        finally:
            server.terminate()
            server.wait(timeout=300)


def run(command: list[str]) -> str:
    """Run a command that must succeed; return its output."""
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=900
    )
    if ran.returncode != 0:
        raise SystemExit(f"{command}: {ran.stdout}{ran.stderr}")
    return ran.stdout


def counted_by_cachegrind(server: Server, requests: int) -> dict[str, list[int]]:
    """Return the counts of all functions, start of the server included."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = folder / "out"
        tool = [
            "valgrind",
            "-q",
            "--tool=cachegrind",
            f"--cachegrind-out-file={out}",
            *CACHES,
        ]
        with served([*tool, *server.command(folder)], folder):
            run(server.load(requests))
        functions: dict[str, list[int]] = defaultdict(lambda: [0] * 9)
        function = ""
        for line in out.read_text(encoding="utf-8").splitlines():
            if line.startswith("fn="):
                function = line[3:]
            elif line[:1].isdigit():
                counts = [int(count) for count in line.split()[1:]]
                own = functions[function]
                functions[function] = [
                    one + more for one, more in zip(own, counts, strict=True)
                ]
        return functions


def by_cachegrind(server: Server) -> Misses:
    """Return the misses of a request."""
    few, many = (counted_by_cachegrind(server, requests) for requests in (FEW, MANY))
    misses: Misses = {}
    for function, counts in many.items():
        counted = zip(counts, few.get(function, [0] * 9), strict=True)
        of = [(more - less) / (MANY - FEW) for more, less in counted]
        # Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
        misses[function] = (of[1], of[4] + of[7], of[2] + of[5] + of[8])
    return misses


def by_corehop(server: Server) -> Misses:
    """Return the misses of a request."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace, machine = folder / "trace", folder / "machine.toml"
        machine.write_text(MACHINE)
        record = [
            "corehop",
            "record",
            "-q",
            "-o",
            str(trace),
            "--request-at",
            server.marker,
        ]
        record += ["--requests", str(MANY - 1), "--", *server.command(folder)]
        with served(record, folder) as recorder:
            # The server ends with the last recorded request, before the load does.
            subprocess.run(
                server.load(MANY), check=False, capture_output=True, timeout=900
            )
            recorder.wait(timeout=300)
        profile = [
            "corehop",
            "profile",
            str(trace),
            "--machine",
            str(machine),
            "--json",
        ]
        told = json.loads(run([*profile, "--limit", "100000", "--warm-up", str(FEW)]))
    misses: dict[str, list[float]] = defaultdict(lambda: [0.0] * 3)
    for row in told["views"][0]["rows"]:
        of = [
            row["cost"][level]["misses"] / told["requests"]
            for level in ("l1i", "l1d", "l2")
        ]
        name = row["name"] if row["is_named"] else NAMELESS
        own = misses[name]
        misses[name] = [one + more for one, more in zip(own, of, strict=True)]
    return {name: (of[0], of[1], of[2]) for name, of in misses.items()}


def total(misses: Misses) -> tuple[float, float, float]:
    """Return the sums."""
    sums = [sum(of) for of in zip(*misses.values(), strict=True)]
    return sums[0], sums[1], sums[2]


def main() -> None:
    """Print a table for each server, and all as JSON."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next(
        line.partition(": ")[2] for line in lines if line.startswith("model name")
    )
    print(f"{os.cpu_count()} CPUs {model}, Linux {platform.release()}\n")
    levels = "".join(f"{level:>22}" for level in ("L1I", "L1D", "last level"))
    print(f"{'misses a request':<27}{levels}")
    print(f"{'':<27}" + "    corehop cachegrind" * 3)
    rows = []
    for server in SERVERS:
        both = by_corehop(server), by_cachegrind(server)
        largest = sorted(both[1], key=lambda name: -sum(both[1][name][:2]))[:LISTED]
        shown = [(name, both[0].get(name), both[1][name]) for name in largest]
        for name, ours, theirs in [(server.name, *map(total, both)), *shown]:
            pairs = zip(ours or (0.0,) * 3, theirs, strict=True)
            figures = "".join(f"{own:>11.2f}{their:>11.2f}" for own, their in pairs)
            print(f"{name[:26]:<27}{figures}")
            row = {
                "server": server.name,
                "name": name,
                "corehop": ours,
                "cachegrind": theirs,
            }
            rows.append(row)
        print()
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
