"""A worker can read any output of `corehop partition --json` that the schema allows.

Workers have only Dask and corehop, so their types only list keys and types; this file compares them
with the schema.
"""

from __future__ import annotations

import json
import types
import typing
from pathlib import Path
from typing import Any

import pytest

from corehop_fleet import table, work

SCHEMAS = Path(__file__).resolve().parents[3] / "configs/schemas"

KINDS = {
    "core": {"core": 1, "mode": "enter"},
    "delegated": {"core": 1, "mode": "call"},
    "argument": {"by": "argument 3", "after": 4, "mode": "enter"},
    "k-th call": {"core": 1, "call": 6, "mode": "enter"},
}


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def example(of: Any, *, nulls: bool) -> Any:
    """Return the minimum that a schema allows: required keys only, with null where `nulls`."""
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


# The place of each type in the schemas: a file, and the path to its object.
PLACES: dict[type, tuple[str, list[str]]] = {
    work.Found: ("partition", []),
    work.Draws: ("partition", ["properties", "draws_together"]),
    work.Comparison: ("definitions", ["$defs", "comparison"]),
    work.Counters: ("definitions", ["$defs", "counters"]),
    work.Level: ("definitions", ["$defs", "level"]),
    work.PlannedFunction: ("definitions", ["$defs", "planned_function"]),
}

JSON_TYPES: dict[Any, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    types.NoneType: "null",
    list: "array",
    dict: "object",
}


def types_of_schema(of: Any) -> set[str]:
    if "$ref" in of:
        return types_of_schema(schema("definitions")["$defs"][of["$ref"].rpartition("/")[2]])
    if "anyOf" in of:
        return {kind for one in of["anyOf"] for kind in types_of_schema(one)}
    return set(of["type"]) if isinstance(of["type"], list) else {of["type"]}


def types_of(hint: Any) -> set[str]:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return {kind for one in typing.get_args(hint) for kind in types_of(one)}
    return {"object"} if typing.is_typeddict(hint) else {JSON_TYPES[origin or hint]}


@pytest.mark.parametrize("kind", PLACES, ids=lambda kind: kind.__name__)
def test_a_type_has_required_keys_of_its_schema_with_their_types_and_nulls(kind: type) -> None:
    name, way = PLACES[kind]
    place = schema(name)
    for step in way:
        place = place[step]
    for key, hint in typing.get_type_hints(kind).items():
        assert key in place["required"], key
        assert types_of(hint) == types_of_schema(place["properties"][key]), key


def test_every_type_is_held_to_a_schema() -> None:
    assert {kind for kind in vars(work).values() if typing.is_typeddict(kind)} == set(PLACES)
