"""How much sooner two worker processes end a sweep than one, and what tasks cost beside searches.

The bundled samples are searched for all bundled machines, by one worker process and by two, each
time from nothing and with one thread a search, and both must give the same table. The last line is
the same as JSON. It fails when something does not work, and never because something is slow.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corehop_fleet import table

ROOT = Path(__file__).resolve().parents[2]
CORES = (2, 4)
SAMPLES = ("mariadb-tpcc", "mariadb-tpcc-4")


@dataclass(frozen=True)
class Figures:
    """One run of the sweep."""

    workers: int
    tasks: int
    seconds: float
    # Of the searches alone, as the program reports each.
    search_seconds: float
    result_bytes: int

    @property
    def beside_seconds(self) -> float:
        """Return a task's cost for its worker without the search: starts, reads, idle time."""
        return (self.seconds * self.workers - self.search_seconds) / self.tasks


def main() -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corehop", type=Path, default=ROOT / "target/release/corehop")
    parser.add_argument("--quick", action="store_true", help="one machine, and poor searches")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corehop-bench-") as name:
        folder = Path(name)
        trace_bytes = prepare(folder, options.corehop, is_quick=options.quick)
        runs = [run(folder, options.corehop, workers) for workers in (1, 2)]
    tables = [rows for _, rows in runs]
    if tables[0] != tables[1]:
        print("bench: one worker and two give different tables", file=sys.stderr)
        return 1
    print("\n".join(lines([figures for figures, _ in runs], trace_bytes)))
    return 0


def prepare(folder: Path, corehop: Path, *, is_quick: bool) -> int:
    """Write the sweep and its traces; return the total size of the traces in bytes."""
    for sample in SAMPLES:
        path = folder / f"{sample}.trace"
        subprocess.run([corehop, "sample", sample, "--output", path], check=True)
    machines = ["xeon-e5-2620-v4"] if is_quick else ["bundled"]
    text = f"machines = {json.dumps(machines)}\ncores = {list(CORES)}\n[traces]\n"
    text += "".join(f'{sample} = "{sample}.trace"\n' for sample in SAMPLES)
    if is_quick:
        text += '[options]\nrequests = 2\ndraws = 1\nstrategy = "random"\nreturns = "never"\n'
    (folder / "sweep.toml").write_text(text, encoding="utf-8")
    return sum(path.stat().st_size for path in folder.glob("*.trace"))


def run(folder: Path, corehop: Path, workers: int) -> tuple[Figures, list[dict[str, Any]]]:
    """Run the sweep without earlier results."""
    results = folder / f"by-{workers}"
    command = [str(corehop), "fleet", str(folder / "sweep.toml"), "--output", str(results)]
    began = time.perf_counter()
    subprocess.run([*command, "--workers", str(workers)], check=True)
    seconds = time.perf_counter() - began
    rows = table.read(results / "results.parquet")
    done = [row for row in rows if row["status"] == "done"]
    sizes = [path.stat().st_size for path in results.glob("tasks/*/*.json")]
    searches = sum(row.pop("search_seconds") or 0.0 for row in rows)
    return Figures(workers, len(done), seconds, searches, sum(sizes)), rows


def lines(runs: list[Figures], trace_bytes: int) -> list[str]:
    """Return the table and the JSON."""
    heads = ("workers", "tasks", "seconds", "speed-up", "a search, s", "beside it, s", "result, B")
    text = [machine(), "", "".join(f"{head:>14}" for head in heads)]
    objects = []
    for figures in runs:
        speed_up = runs[0].seconds / figures.seconds
        search = figures.search_seconds / figures.tasks
        values = (
            f"{figures.workers}",
            f"{figures.tasks}",
            f"{figures.seconds:.1f}",
            f"{speed_up:.2f}",
            f"{search:.2f}",
            f"{figures.beside_seconds:.2f}",
            f"{figures.result_bytes // figures.tasks}",
        )
        text.append("".join(f"{value:>14}" for value in values))
        objects.append(
            asdict(figures) | {"speed_up": speed_up, "beside_seconds": figures.beside_seconds}
        )
    return [*text, "", json.dumps({"runs": objects, "trace_bytes": trace_bytes})]


def machine() -> str:
    """Return a line about this machine."""
    cpus = len(os.sched_getaffinity(0))
    return f"{cpus} CPUs ({platform.machine()}), Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
