"""All rows as one Parquet file, which DuckDB writes and reads; pandas and others read it too.

The rows are ordered by names and numbers. Only `search_seconds` depends on the workers, so two runs
of a sweep produce the same table apart from it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from corehop_fleet.console import inert
from corehop_fleet.run import Row
from corehop_fleet.store import Store

# The columns, in order; research/fleet.md describes each.
COLUMNS = {
    "server": "VARCHAR",
    "trace": "VARCHAR",
    "trace_url": "VARCHAR",
    "trace_sha256": "VARCHAR",
    "machine": "VARCHAR",
    "machine_cores": "INTEGER",
    "cores": "INTEGER",
    "objective": "VARCHAR",
    "options": "VARCHAR",
    "corehop": "VARCHAR",
    "key": "VARCHAR",
    "status": "VARCHAR",
    "error": "VARCHAR",
    "verdict": "VARCHAR",
    "against": "VARCHAR",
    "ratio": "DOUBLE",
    "ratio_least": "DOUBLE",
    "ratio_most": "DOUBLE",
    "cycles_ratio_carrier": "DOUBLE",
    "cycles_ratio_affinity": "DOUBLE",
    "l2_misses_one_core": "BIGINT",
    "l2_misses_split": "BIGINT",
    "requests_judged": "BIGINT",
    "hops_per_request": "DOUBLE",
    "break_even_hop_cycles": "DOUBLE",
    "candidates": "INTEGER",
    "splits_evaluated": "BIGINT",
    "proven_optimal": "BOOLEAN",
    "functions": "VARCHAR[]",
    "plan": "VARCHAR",
    "search_seconds": "DOUBLE",
}
ORDER = "server, trace, trace_url, machine, cores, objective"


def write(rows: Iterable[Row], options: str, version: str, store: Store) -> Path:
    """Write the table into the store."""
    path = store.folder / "results.parquet"
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(as_columns(row, options, version)) + "\n")
        lines.flush()

        def fill(beside: Path) -> None:
            read = "read_json(?, format = 'newline_delimited', columns = ?)"
            query = f"SELECT * FROM {read} ORDER BY {ORDER}"
            with duckdb.connect() as database:
                database.execute(f"CREATE TABLE results AS {query}", [lines.name, COLUMNS])
                place = str(beside).replace("'", "''")
                database.execute(f"COPY results TO '{place}' (FORMAT parquet, COMPRESSION zstd)")

        store.replace(path, fill)
    return path


def as_columns(row: Row, options: str, version: str) -> dict[str, Any]:
    """Return a table row with every column, because an empty file would have no types."""
    task = row.task
    about = {
        "server": task.server,
        "trace": task.trace,
        "trace_url": row.trace.url,
        "trace_sha256": task.trace_sha256 or None,
        "machine": task.machine.name,
        "machine_cores": task.machine.cores,
        "cores": task.cores,
        "objective": task.objective,
        "options": options,
        "corehop": version,
        "key": row.key or None,
        "status": row.status,
        "error": row.error and inert(row.error),
    }
    found = row.result or {}
    columns = {**about, **found.get("found", {}), "plan": found.get("plan")}
    return {name: columns.get(name) for name in COLUMNS}


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    with duckdb.connect() as database:
        answer = database.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in answer.description or []]
        return [dict(zip(names, values, strict=True)) for values in answer.fetchall()]
