"""Whatever `corehop partition --json` may print by its schema, a worker takes a row from it.

Workers have Dask and corehop alone, so they read the JSON without types; this holds them to it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corehop_fleet import table, work

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"

KINDS = {
    "core": {"core": 1, "mode": "enter"},
    "delegated": {"core": 1, "mode": "call"},
    "argument": {"by": "argument 3", "after": 4, "mode": "enter"},
    "k-th call": {"core": 1, "call": 6, "mode": "enter"},
}


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def example(of: Any, *, nulls: bool) -> Any:
    """The least that a schema allows: only required keys, and null or not wherever it may be."""
    if "$ref" in of:
        name = of["$ref"].rpartition("/")[2]
        return example(schema("definitions")["$defs"][name], nulls=nulls)
    if "anyOf" in of:
        null = {"type": "null"}
        others = [one for one in of["anyOf"] if one != null]
        return None if nulls and null in of["anyOf"] else example(others[0], nulls=nulls)
    if "enum" in of:
        return None if nulls and None in of["enum"] else of["enum"][0]
    types = of["type"] if isinstance(of["type"], list) else [of["type"]]
    if nulls and "null" in types:
        return None
    simple = {"integer": 1, "number": 1.5, "string": "text", "boolean": False, "array": []}
    if types[0] != "object":
        return simple[types[0]]
    keys = of.get("required", [])
    return {key: example(of["properties"][key], nulls=nulls) for key in keys}


@pytest.mark.parametrize("nulls", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_plan_gives_a_row_with_the_columns_of_the_table(
    kind: str, nulls: bool
) -> None:
    found = example(schema("partition"), nulls=nulls)
    function = {"module": "/server", "build_id": "0a", "offset": 8, "symbol": "serve"}
    found["plan"] = [function | KINDS[kind]]
    row = work.kept(found)
    assert row["functions"] == ["serve"]
    assert row["requests_judged"] == 1
    assert (row["ratio"] is None) is nulls
    assert row.keys() - table.COLUMNS.keys() == {"machine_name"}
    assert found["stopped"] is False
