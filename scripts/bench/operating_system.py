"""Measure the operating system's part in a request: redis, nginx, and mariadbd recorded with it.

Each server is recorded on a machine (`corehop record --system`). All figures are computed with and
without the kernel: L2 misses, working sets, and the split that `partition` finds. A replay also
predicts the savings of system calls on another core or in batches (`replay --system-calls`). All
figures are counts, which differ between runs by the random choices of kernel and server. `make
bench-system` runs it, with the corehop that it has built, or with COREHOP.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import corehop_json
from corehop_json import given
from corehop_json.counters import Counters
from corehop_json.replay import Replayed
from corehop_json.replay_system_calls import BothModes, ReplayedSystemCalls

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("COREHOP", ROOT / "target/release/corehop"))
TPCC = BUILT.with_name("corehop-tpcc")
#: Has an L2 of 256 KiB, as in the paper.
MACHINE = "xeon-e5-2620-v4"
KERNEL = "[kernel]"


@dataclass
class Server:
    """How to record a server: options of `record --system`, and the server's command."""

    name: str
    request_at: str
    prepare: Callable[[Path], None]
    options: Callable[[Path], list[str]]
    command: Callable[[Path], list[str]]


def corehop(folder: Path, *words: str) -> str:
    """Return the output of corehop, which must succeed."""
    done = subprocess.run([BUILT, *words], cwd=folder, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"corehop {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def nothing(_: Path) -> None:
    """Prepare nothing."""


def pages(folder: Path) -> None:
    """Write a page of 1000 bytes, and a configuration of nginx that serves it."""
    of = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    folders = " ".join(f"{name}_temp_path {name};" for name in of)
    (folder / "nginx.conf").write_text(
        "user root;\npid pid;\nerror_log errors;\nevents {}\n"
        f"http {{ access_log off; {folders}\n"
        "  server { listen 127.0.0.1:7080; root files; } }\n"
    )
    (folder / "files").mkdir()
    (folder / "files/page.txt").write_text("x" * 999 + "\n")


def mariadbd(folder: Path) -> list[str]:
    """Return the command of the server for the data in the folder."""
    return [
        *("mariadbd", "--no-defaults", f"--datadir={folder}/data", f"--socket={folder}/socket"),
        *(f"--pid-file={folder}/pid", "--skip-networking", "--innodb-log-file-size=16M"),
        *("--innodb-buffer-pool-size=64M", "--innodb-buffer-pool-size-max=64M", "--user=root"),
    ]


def tables(folder: Path) -> None:
    """Create TPC-C's tables with a server outside of the machine."""
    pool = mariadbd(folder)[6:8]
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={folder}/data", *pool]
    install += ["--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(install, check=True, capture_output=True)
    with (folder / "messages").open("w") as messages:
        server = subprocess.Popen(mariadbd(folder), stdout=messages, stderr=messages)
    try:
        at = ["--socket", f"{folder}/socket"]
        subprocess.run([str(TPCC), "wait", "--max-seconds", "120", *at], check=True)
        load = [str(TPCC), "load", "--scale", "60", "--seed", "1", *at]
        subprocess.run(load, check=True, capture_output=True)
    finally:
        server.terminate()
        server.wait(timeout=60)


SERVERS = [
    Server(
        "redis",
        "processCommand",
        nothing,
        lambda _: ["--load", "redis-benchmark -p 7000 -c 1 -n 300 -t get"],
        lambda _: ["redis-server", "--port", "7000", "--save", ""],
    ),
    Server(
        "nginx",
        "ngx_http_process_request",
        pages,
        lambda _: [
            *("--copy", "files", "--load"),
            "curl -s -o /dev/null 'http://127.0.0.1:7080/page.txt?[1-300]'",
        ],
        lambda folder: [
            *("nginx", "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"),
            *("-g", "daemon off;"),
        ],
    ),
    Server(
        "mariadbd",
        "dispatch_command",
        tables,
        lambda folder: [
            *("--copy", "data", "--load"),
            f"{TPCC} run --transactions 20 --seed 1 --socket {folder}/socket",
        ],
        mariadbd,
    ),
]


def record(server: Server, folder: Path) -> None:
    """Record a hundred requests, and export a second trace without the kernel."""
    server.prepare(folder)
    options = ["--requests", "100", "--memory-limit", "3072", *server.options(folder)]
    words = ["record", "--system", "-o", "whole.trace", "--request-at", server.request_at]
    corehop(folder, *words, *options, "--", *server.command(folder))
    export = ["export", "--format", "corehop", "--without-kernel", "whole.trace"]
    corehop(folder, *export, "-o", "user.trace")


def counted(folder: Path, *words: str) -> str:
    """Return the JSON of a replay."""
    return corehop(folder, "replay", "--machine", MACHINE, "--json", *words)


def replay(folder: Path, *words: str) -> Replayed:
    """Return the counts of a replay."""
    return corehop_json.parse(counted(folder, *words), Replayed, "corehop replay")


def accesses(counters: Counters) -> int:
    """Return the number of accessed lines."""
    return counters.l1i.accesses + counters.l1d.accesses


def change(folder: Path, plan: str) -> float:
    """Return by how many percent a plan changes the L2 misses of the whole trace."""
    counts = replay(folder, "--plan", plan, "whole.trace")
    before = given(counts.baseline, "baseline").counters
    return 100 * (counts.counters.l2.misses / before.l2.misses - 1)


def figures(folder: Path) -> dict[str, float]:
    """Return all figures of a recorded server."""
    whole = replay(folder, "--detail", "whole.trace")
    user = replay(folder, "--detail", "user.trace")
    all_code = given(whole.functions, "functions")
    kernel = [code.counters for code in all_code if code.module == KERNEL]
    of_kernel = sum(counters.l2.misses for counters in kernel)
    misses = whole.counters.l2.misses
    found: dict[str, float] = {
        "accesses": accesses(whole.counters),
        "kernel_accesses_percent": 100 * sum(map(accesses, kernel)) / accesses(whole.counters),
        "l2_misses": misses,
        "kernel_l2_misses_percent": 100 * of_kernel / misses,
        "user_l2_misses": misses - of_kernel,
        "user_alone_l2_misses": user.counters.l2.misses,
    }
    for name, counts in [("whole", whole), ("user", user)]:
        sizes = given(counts.working_set, "working_set").size_bytes
        found[f"{name}_working_set_kib"] = sizes.median / 1024
        found[f"{name}_largest_working_set_kib"] = sizes.largest / 1024
        plan, trace = f"{name}.toml", f"{name}.trace"
        # Keep a plan without a gain too: its loss is also a figure.
        search = ["partition", "--cores", "2", "--machine", MACHINE, "--force", "-o", plan, trace]
        corehop(folder, *search)
        found[f"{name}_plan_percent"] = change(folder, plan)
    return found


def posted(folder: Path) -> dict[str, dict[str, float]]:
    """Return by how many percent asynchronous calls change misses, by the way of making them."""
    modes = given(replay(folder, "--warm-up", "10", "whole.trace").modes, "modes")
    calls = [visit for visit in modes.visits if visit.reason == "system-call" and visit.name]
    largest = max(calls, key=lambda visit: visit.lines).name
    ways = [f"{largest}@1", "all@1", "all@batch", "all@batch:1"]
    options = [word for way in ways for word in ("--system-calls", way)]
    printed = counted(folder, "--warm-up", "10", "--batch", "8,64", *options, "whole.trace")
    counts = corehop_json.parse(printed, ReplayedSystemCalls, "corehop replay --system-calls")
    before = sizes_of(counts.in_place)
    found = {}
    for way in counts.posted:
        name = way.system_calls + (f", {way.batch}" if way.batch else "")
        after = sizes_of(way.all)
        found[name] = {key: 100 * (after[key] / before[key] - 1) for key in before}
    return found


def sizes_of(both: BothModes) -> dict[str, float]:
    """Return the compared counts of both modes."""
    return {
        "user_l2": both.user.l2.misses,
        "kernel_l2": both.kernel.l2.misses,
        "user_l1i": both.user.l1i.misses,
        "user_l1d": both.user.l1d.misses,
        "cycles": both.user.cycles + both.kernel.cycles,
    }


ROWS = [
    ("line references", "accesses", ",.0f"),
    ("of them in the kernel", "kernel_accesses_percent", ".1f"),
    ("L2 misses", "l2_misses", ",.0f"),
    ("of them in the kernel", "kernel_l2_misses_percent", ".1f"),
    ("L2 misses in user code", "user_l2_misses", ",.0f"),
    ("the same without the kernel", "user_alone_l2_misses", ",.0f"),
    ("working set of a request, median", "whole_working_set_kib", ".0f"),
    ("the same, largest", "whole_largest_working_set_kib", ".0f"),
    ("the same without the kernel, median", "user_working_set_kib", ".0f"),
    ("the same, largest", "user_largest_working_set_kib", ".0f"),
    ("L2 misses, split found with the kernel", "whole_plan_percent", "+.1f"),
    ("L2 misses, split found without it", "user_plan_percent", "+.1f"),
]


WHAT = {
    "user_l1i": "user code's L1I misses",
    "user_l1d": "L1D",
    "user_l2": "L2",
    "kernel_l2": "the kernel's L2",
    "cycles": "cycles of both",
}


def unit(key: str) -> str:
    """Return the unit of a figure."""
    return {"percent": " %", "kib": " KiB"}.get(key.rsplit("_", 1)[-1], "")


def main() -> int:
    """Print a table, and one JSON object in the last line."""
    wanted = sys.argv[1:]
    found = {}
    calls = {}
    for server in SERVERS:
        if wanted and server.name not in wanted:
            continue
        print(f"{server.name}: recording and replaying", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="corehop-") as folder:
            record(server, Path(folder))
            found[server.name] = figures(Path(folder))
            calls[server.name] = posted(Path(folder))
    print(f"| on {MACHINE}, two cores |" + "".join(f" {name} |" for name in found))
    print("|---|" + "---:|" * len(found))
    for title, key, shape in ROWS:
        cells = (format(one[key], shape).replace(",", " ") for one in found.values())
        print(f"| {title} |" + "".join(f" {cell}{unit(key)} |" for cell in cells))
    print("\n| system calls made elsewhere |" + "".join(f" {name} |" for name in WHAT.values()))
    print("|---|" + "---:|" * len(WHAT))
    for name, ways in calls.items():
        for way, changes in ways.items():
            cells = (f" {changes[key]:+.1f} % |" for key in WHAT)
            print(f"| {name}, `{way}` |" + "".join(cells))
    print(json.dumps({"servers": found, "posted": calls}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
