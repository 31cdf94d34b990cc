"""Made-up results of corehop and of runs, for tests of the demo's evaluation."""

from __future__ import annotations

from typing import Any

import msgspec

from corehop_json.optimize import Optimized
from corehop_json.replay import Replayed
from demo.stages import Run

TABLES = {"item": {"rows": 3, "checksum": 17}, "stock": {"rows": 3, "checksum": 18}}
LOAD = {"committed": 45, "rolled_back": 1, "requests": 1000, "statements": 999}


def run(hops: int, **tables: object) -> Run:
    """Return the result of a run."""
    statistics = {"backend": "count", "hops": hops, "failed_hops": 0, "functions": []}
    contents = {"load": LOAD, "tables": TABLES | tables, "statistics": statistics}
    return msgspec.convert(contents, Run)


def counters(fetch: int, data: int) -> dict[str, Any]:
    """Return the same misses at all levels."""
    level = {"accesses": 9000, "misses": fetch + data, "fetch_misses": fetch, "data_misses": data}
    return {"l1i": level, "l1d": level, "l2": level, "l3": level, "cycles": 90_000}


def replayed(hops: int) -> Replayed:
    """Return the counts of a replay."""
    return msgspec.convert({"hops": hops, "counters": counters(600, 400)}, Replayed)


def function(**keys: object) -> dict[str, Any]:
    """Return a planned function."""
    return {"symbol": "_ZN3foo3barEi", "mode": "enter", **keys}


def optimized(**keys: object) -> Optimized:
    """Return the result of `corehop optimize`: a gain, unless `keys` has something else."""
    tried = {
        "cores": 2,
        "functions": [function(core=0, symbol="zsetLength"), function(core=1)],
        "predicted": {
            "l2_misses_ratio": 0.004,
            "hops_per_request": 2.0,
            "speedup": {"low": 2.5, "median": 2.75, "high": 3.0},
        },
        "system_calls": None,
    }
    contents = {
        "gain": True,
        "ratio": 2.704,
        "interval": [2.551, 2.852],
        "confidence": 0.95,
        "why_not": None,
        "command": "corehop run",
        "groups": None,
        "best": 0,
        "tried": [tried],
    }
    return msgspec.convert(contents | keys, Optimized)


def tried(**keys: object) -> list[dict[str, Any]]:
    """Return the single candidate that was tried."""
    contents = {"cores": None, "functions": None, "predicted": None, "system_calls": None}
    return [contents | keys]
