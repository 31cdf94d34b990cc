#!/usr/bin/env python3
"""The misses of servers' functions, by corehop and by cachegrind.

    profile_beside.py [SERVER ...]

Each server answers the same requests under cachegrind and while corehop records it, one at a time.
Both simulate the same caches: L1I and L1D of 32 KiB, 8 ways, and a last level of 16 MiB, 16 ways,
LRU. cachegrind also counts the start of the server, so its counts of a run with few requests are
subtracted. Listed are the functions with most L1 misses, and as one those without a symbol.

redis, memcached, and nginx answer a client. mariadbd (`--bootstrap`, MyISAM) and postgres
(`--single`) read their queries from a file, which leaves out threads and sockets. Root runs
postgres in a user namespace, because it refuses root. Servers are Debian's; `corehop`, valgrind,
redis-benchmark, ab, and unshare are those of PATH.
"""

import json
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import running

PORT = 7391
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
# memcached sets the limit of files to its connections. Under Valgrind only the limit that there is
# can be set, and that is lower by the files that Valgrind keeps.
FILES, VALGRINDS_FILES = 1024, 12
KEYS = 1000
VALUE = "x" * 100
ROWS = 10_000
POSTGRES = "/usr/lib/postgresql/15/bin"
# By function: misses of the L1I, the L1D, and the last level.
Misses = dict[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Server:
    """A server and its load."""

    # Writes the server's files; returns its command. The commands for that have a prefix.
    command: Callable[[Path, list[str]], list[str]]
    marker: str
    # Sends so many requests.
    send: Callable[[int], None] | None = None
    # Writes so many queries, which the server reads instead.
    queries: Callable[[int], str] | None = None
    # The first requests, and all.
    few: int = 2_000
    many: int = 22_000
    # Whether it refuses root.
    refuses_root: bool = False

    @property
    def prefix(self) -> list[str]:
        """Return the command that runs its commands as another user, as far as they see."""
        is_root = self.refuses_root and os.geteuid() == 0
        return ["unshare", "--user", "--map-user=65534"] if is_root else []


def nginx(folder: Path, _: list[str]) -> list[str]:
    """Write nginx's files; return its command."""
    (folder / "page.html").write_text("x" * 1000)
    (folder / "nginx.conf").write_text(NGINX.format(port=PORT, folder=folder))
    return ["/usr/sbin/nginx", "-p", str(folder), "-c", "nginx.conf"]


def redis(_folder: Path, _: list[str]) -> list[str]:
    """Return redis's command."""
    return ["/usr/bin/redis-server", "--port", str(PORT), "--save", ""]


def memcached(_folder: Path, _: list[str]) -> list[str]:
    """Return memcached's command, without threads that work by the clock."""
    threads = ["-t", "1", "-o", "no_lru_crawler,no_lru_maintainer"]
    files = ["-c", str(FILES - VALGRINDS_FILES)]
    who = ["-u", "root"] if os.geteuid() == 0 else []
    return ["/usr/bin/memcached", "-l", "127.0.0.1", "-p", str(PORT), *threads, *files, *who]


def mariadbd(folder: Path, prefix: list[str]) -> list[str]:
    """Make a table; return the command that reads queries."""
    data = folder / "data"
    data.mkdir()
    command = ["/usr/sbin/mariadbd", "--no-defaults", "--bootstrap", f"--datadir={data}"]
    command += ["--skip-innodb", "--default-storage-engine=MyISAM"]
    command += ["--user=root"] if os.geteuid() == 0 else []
    rows = (f"insert into d.t values ({row}, '{VALUE}');\n" for row in range(ROWS))
    table = "create database d;\ncreate table d.t (a int primary key, b text);\n"
    (folder / "table.sql").write_text(table + "".join(rows))
    running.run([*prefix, *command], stdin=folder / "table.sql")
    return command


def postgres(folder: Path, prefix: list[str]) -> list[str]:
    """Make a table; return the command that reads queries."""
    data = str(folder / "data")
    running.run([*prefix, f"{POSTGRES}/initdb", "-D", data, "-A", "trust"])
    rows = f"insert into t select g, '{VALUE}' from generate_series(0, {ROWS - 1}) g;\n"
    table = "create table t (a int primary key, b text);\n" + rows + "analyze t;\n"
    (folder / "table.sql").write_text(table)
    command = [f"{POSTGRES}/postgres", "--single", "-D", data, "postgres"]
    running.run([*prefix, *command], stdin=folder / "table.sql")
    return command


def by_command(command: list[str], number: int) -> None:
    """Send so many requests with a command."""
    words = [word.format(number=number, port=PORT) for word in command]
    subprocess.run(words, check=False, capture_output=True, timeout=running.LONGEST_S)


def to_memcached(number: int) -> None:
    """Set and get random keys in turn."""
    random.seed(1)
    with socket.create_connection(("127.0.0.1", PORT)) as client, client.makefile("rb") as answers:
        for _ in range(number // 2):
            key = f"key{random.randrange(KEYS):06}"
            client.sendall(f"set {key} 0 0 {len(VALUE)}\r\n{VALUE}\r\n".encode())
            answers.readline()
            client.sendall(f"get {key}\r\n".encode())
            while answers.readline() not in (b"END\r\n", b""):
                pass


def queries(table: str, number: int) -> str:
    """Return queries of random rows."""
    random.seed(1)
    keys = (random.randrange(ROWS) for _ in range(number))
    return "".join(f"select b from {table} where a = {key};\n" for key in keys)


REDIS_LOAD = ["redis-benchmark", "-q", "-p", "{port}", "-c", "1", "-r", "10000", "-t", "set"]
NGINX_LOAD = ["ab", "-q", "-k", "-n", "{number}", "http://127.0.0.1:{port}/page.html"]
SERVERS = {
    "redis": Server(redis, "processCommand", partial(by_command, [*REDIS_LOAD, "-n", "{number}"])),
    "nginx": Server(nginx, "ngx_http_process_request", partial(by_command, NGINX_LOAD)),
    "memcached": Server(memcached, "syscalls", to_memcached),
    "mariadbd": Server(
        mariadbd, "mysql_parse", queries=partial(queries, "d.t"), few=500, many=2_500
    ),
    "postgres": Server(
        postgres,
        "pg_parse_query",
        queries=partial(queries, "t"),
        few=500,
        many=2_500,
        refuses_root=True,
    ),
}


def serve(server: Server, folder: Path, tool: list[str], number: int) -> None:
    """Let a server under a tool answer so many requests, and wait for the tool's end."""
    command = [*server.prefix, *tool, *server.command(folder, server.prefix)]
    if server.queries:
        script = folder / "queries.sql"
        script.write_text(server.queries(number))
        running.run(command, stdin=script)
    elif server.send:
        with running.served(command, folder, partial(running.listens, PORT)) as started:
            server.send(number)
            # A recorder ends with the last recorded request; cachegrind has to be told.
            if "record" not in tool:
                started.terminate()
            started.wait(timeout=running.LONGEST_S)


def plain(name: str) -> str:
    """Return what the names of a function have in common: they differ in underscores."""
    return name.lstrip("_")


def counted_by_cachegrind(server: Server, requests: int) -> dict[str, list[int]]:
    """Return the counts of all functions, start of the server included."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = folder / "out"
        tool = ["valgrind", "-q", "--tool=cachegrind", f"--cachegrind-out-file={out}", *CACHES]
        serve(server, folder, tool, requests)
        functions: dict[str, list[int]] = defaultdict(lambda: [0] * 9)
        function = ""
        for line in out.read_text(encoding="utf-8").splitlines():
            if line.startswith("fn="):
                function = line[3:].partition("@@")[0]
            elif line[:1].isdigit():
                counts = [int(count) for count in line.split()[1:]]
                own = functions[function]
                functions[function] = [one + more for one, more in zip(own, counts, strict=True)]
        return functions


def by_cachegrind(server: Server) -> Misses:
    """Return the misses of a request."""
    few, many = (counted_by_cachegrind(server, number) for number in (server.few, server.many))
    misses: Misses = {}
    for function, counts in many.items():
        counted = zip(counts, few.get(function, [0] * 9), strict=True)
        of = [(more - less) / (server.many - server.few) for more, less in counted]
        # Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
        misses[function] = (of[1], of[4] + of[7], of[2] + of[5] + of[8])
    return misses


def by_corehop(server: Server) -> Misses:
    """Return the misses of a request."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace, machine = folder / "trace", folder / "machine.toml"
        machine.write_text(MACHINE)
        record = ["corehop", "record", "-q", "-o", str(trace), "--request-at", server.marker]
        record += ["--requests", str(server.many - 1), "--"]
        serve(server, folder, record, server.many)
        profile = ["corehop", "profile", str(trace), "--machine", str(machine), "--json"]
        told = running.run([*profile, "--limit", "100000", "--warm-up", str(server.few)])
        profiled = json.loads(told)
    misses: dict[str, list[float]] = defaultdict(lambda: [0.0] * 3)
    for row in profiled["views"][0]["rows"]:
        levels = (row["cost"][level]["misses"] for level in ("l1i", "l1d", "l2"))
        name = row["name"] if row["is_named"] else NAMELESS
        own = misses[name]
        misses[name] = [
            one + more / profiled["requests"] for one, more in zip(own, levels, strict=True)
        ]
    return {name: (of[0], of[1], of[2]) for name, of in misses.items()}


def total(misses: Misses) -> tuple[float, float, float]:
    """Return the sums."""
    sums = [sum(of) for of in zip(*misses.values(), strict=True)]
    return sums[0], sums[1], sums[2]


def main() -> None:
    """Print a table for each server, and all as JSON."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    print(f"{running.machine()}\n")
    levels = "".join(f"{level:>22}" for level in ("L1I", "L1D", "last level"))
    print(f"{'misses a request':<27}{levels}")
    print(f"{'':<27}" + "    corehop cachegrind" * 3)
    rows = []
    for chosen in sys.argv[1:] or SERVERS:
        server = SERVERS[chosen]
        both = by_corehop(server), by_cachegrind(server)
        largest = sorted(both[1], key=lambda name: -sum(both[1][name][:2]))[:LISTED]
        ours_of = {plain(name): misses for name, misses in both[0].items()} | both[0]
        shown = [
            (name, ours_of.get(name) or ours_of.get(plain(name)), both[1][name]) for name in largest
        ]
        for name, ours, theirs in [(chosen, *map(total, both)), *shown]:
            pairs = zip(ours or (0.0,) * 3, theirs, strict=True)
            figures = "".join(f"{own:>11.2f}{their:>11.2f}" for own, their in pairs)
            print(f"{name[:26]:<27}{figures}")
            rows.append({"server": chosen, "name": name, "corehop": ours, "cachegrind": theirs})
        print(flush=True)
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
