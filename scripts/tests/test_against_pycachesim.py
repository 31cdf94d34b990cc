"""The simulator counts what pycachesim counts, on the accesses of the bundled sample trace.

pycachesim simulates one core whose levels are filled on a miss and lose lines on their own: our
machine of one core with a non-inclusive L2 and L3. Two of its definitions differ from ours, so its
caches are fed in ways in which they make no difference:

- A store that hits does not count as a use of the line. Under LRU all accesses are fed as loads;
  under FIFO a use changes nothing, and stores are fed as stores.
- A dirty line that leaves a level is stored into the next, and loaded there again if it has gone;
  here lines leave silently. So with stores, only the first level is compared.

Its `load` and `store` write only the lower half of a 64-bit address (`PyArg_ParseTupleAndKeywords`
with `I` for a `long`): the upper half is what lay there before. `iterload` and `iterstore` take
whole addresses.

It has no coherence, no inclusion, and no exclusive level: those the oracle in `simulator/tests`
stands against.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cachesim import Cache

import corehop_json
from corehop_json.counters import Counters
from corehop_json.replay import Replayed

REPOSITORY = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
TRACE = REPOSITORY / "traces/samples/mariadb-tpcc.trace"
REQUESTS = "0-4"

#: Sets and ways of L1I, L1D, L2, and L3: a server's, and others so small that all levels miss
#: often.
SERVER = {"l1i": (64, 8), "l1d": (64, 12), "l2": (512, 8), "l3": (1000, 16)}
SMALL = {"l1i": (8, 1), "l1d": (4, 3), "l2": (64, 2), "l3": (37, 7)}


def corehop(*arguments: str | Path) -> str:
    command = [TARGET / "debug/corehop", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def machine_file(sizes: dict[str, tuple[int, int]], policy: str) -> str:
    text = (
        'name = "pycachesim"\ncores = 1\nline_size_bytes = 64\n'
        "memory_latency_cycles = 100\nhop_cost_cycles = 1000\n"
    )
    for name, (sets, ways) in sizes.items():
        text += f"[{name}]\nsize_bytes = {sets * ways * 64}\nways = {ways}\n"
        text += f'latency_cycles = 1\npolicy = "{policy}"\n'
        if name in {"l2", "l3"}:
            text += 'inclusion = "non-inclusive"\n'
    return text


def ours(tmp_path: Path, sizes: dict[str, tuple[int, int]], policy: str) -> Counters:
    machine = tmp_path / "machine.toml"
    machine.write_text(machine_file(sizes, policy))
    counted = corehop("replay", TRACE, "--machine", machine, "--requests", REQUESTS, "--json")
    return corehop_json.parse(counted, Replayed, "corehop replay").counters


@pytest.fixture(scope="module")
def records() -> list[tuple[str, int, int]]:
    """Return kind, address, and size of every access in the output of `corehop export`."""
    text = corehop("export", "--format", "lackey", TRACE, "--requests", REQUESTS, "-o", "-")
    found = []
    for line in text.splitlines():
        kind, place = line.split()
        address, size_bytes = place.split(",")
        found.append((kind, int(address, 16), int(size_bytes)))
    return found


def caches(sizes: dict[str, tuple[int, int]], policy: str) -> dict[str, Any]:
    """Return an L1I and an L1D in front of one L2 and one L3."""
    made: dict[str, Any] = {}
    for name in ("l3", "l2", "l1d", "l1i"):
        sets, ways = sizes[name]
        outer = {"l3": None, "l2": made.get("l3")}.get(name, made.get("l2"))
        made[name] = Cache(name, sets, ways, 64, policy, load_from=outer, store_to=outer)
    return made


def feed(
    made: dict[str, Any], records: list[tuple[str, int, int]], *, stores_as_loads: bool
) -> dict[str, dict[str, int]]:
    instructions, data = made["l1i"].backend, made["l1d"].backend
    store = data.iterload if stores_as_loads else data.iterstore
    calls = {"I": instructions.iterload, "L": data.iterload, "S": store}
    for (kind, size_bytes), alike in itertools.groupby(records, lambda record: record[::2]):
        calls[kind]([address for _, address, _ in alike], length=size_bytes)
    return {name: cache.stats() for name, cache in made.items()}


@pytest.mark.parametrize("policy", ["lru", "fifo"])
@pytest.mark.parametrize("sizes", [SERVER, SMALL], ids=["server", "small"])
def test_every_level_misses_as_often(
    tmp_path: Path,
    records: list[tuple[str, int, int]],
    sizes: dict[str, tuple[int, int]],
    policy: str,
) -> None:
    counters = ours(tmp_path, sizes, policy)
    stats = feed(caches(sizes, policy.upper()), records, stores_as_loads=True)
    for name, level in stats.items():
        theirs = (level["HIT_count"] + level["MISS_count"], level["MISS_count"])
        assert (getattr(counters, name).accesses, getattr(counters, name).misses) == theirs, name
        assert theirs[1] > 0
        print(f"{policy} {name}: {theirs[0]} accesses, {theirs[1]} misses in both")


@pytest.mark.parametrize("sizes", [SERVER, SMALL], ids=["server", "small"])
def test_first_levels_miss_as_often_when_stores_are_stores(
    tmp_path: Path, records: list[tuple[str, int, int]], sizes: dict[str, tuple[int, int]]
) -> None:
    counters = ours(tmp_path, sizes, "fifo")
    stats = feed(caches(sizes, "FIFO"), records, stores_as_loads=False)
    for name in ("l1i", "l1d"):
        assert getattr(counters, name).misses == stats[name]["MISS_count"] > 0, name
    assert stats["l1d"]["STORE_count"] == sum(kind == "S" for kind, _, _ in records)
