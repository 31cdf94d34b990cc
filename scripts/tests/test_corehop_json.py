"""The types of corehop's JSON have what its schemas say, and take every kind of plan."""

from __future__ import annotations

import json
import types
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import corehop_json
from corehop_json import candidates, counters, info, optimize, partition, plan, replay

SCHEMAS = Path(__file__).resolve().parent.parent.parent / "schemas"

# Where each type stands in the schemas: a file, and the way to its object.
PLACES: dict[type[msgspec.Struct], tuple[str, list[str | int]]] = {
    plan.PlannedFunction: ("definitions", ["$defs", "planned_function"]),
    counters.Level: ("definitions", ["$defs", "level"]),
    counters.Counters: ("definitions", ["$defs", "counters"]),
    partition.Comparison: ("definitions", ["$defs", "comparison"]),
    partition.Partitioned: ("partition", []),
    optimize.Optimized: ("optimize", []),
    optimize.Group: ("definitions", ["$defs", "groups", "items"]),
    optimize.Tried: ("optimize", ["properties", "tried", "items"]),
    optimize.Predicted: (
        "optimize",
        ["properties", "tried", "items", "properties", "predicted"],
    ),
    replay.Replayed: ("replay", ["$defs", "replay"]),
    candidates.Candidates: ("candidates", []),
    candidates.Candidate: ("candidates", ["properties", "candidates", "items"]),
    info.Info: ("info", []),
    info.Module: ("info", ["properties", "modules", "items"]),
}

JSON_TYPES: dict[Any, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    types.NoneType: "null",
    typing.Literal: "string",
    list: "array",
    tuple: "array",
    dict: "object",
}


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def described(kind: type[msgspec.Struct]) -> Any:
    name, way = PLACES[kind]
    place = schema(name)
    for step in way:
        place = place[step]
    return place


def alternatives(of: Any) -> list[Any]:
    """Give what a value may be, each with one type, references followed."""
    if "$ref" in of:
        name = of["$ref"].rpartition("/")[2]
        return alternatives(schema("definitions")["$defs"][name])
    if "anyOf" in of or ("oneOf" in of and "type" not in of):
        return [one for each in of.get("anyOf", of.get("oneOf")) for one in alternatives(each)]
    if "enum" in of:
        return [{"type": "null" if value is None else "string"} for value in of["enum"]]
    kinds = of["type"] if isinstance(of["type"], list) else [of["type"]]
    return [{**of, "type": kind} for kind in kinds]


def json_types(field: Any) -> set[str]:
    """Give the names of JSON's types that a field takes."""
    origin = typing.get_origin(field)
    if origin in (typing.Union, types.UnionType):
        return set().union(*(json_types(one) for one in typing.get_args(field)))
    if field is msgspec.UnsetType:
        return set()
    if isinstance(field, type) and issubclass(field, msgspec.Struct):
        return {"object"}
    return {JSON_TYPES[origin or field]}


@pytest.mark.parametrize("kind", PLACES, ids=lambda kind: kind.__name__)
def test_a_type_has_keys_of_its_schema_with_their_types_and_nulls(
    kind: type[msgspec.Struct],
) -> None:
    place = described(kind)
    hints = typing.get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        assert field.encode_name in place["properties"], field.name
        wanted = {one["type"] for one in alternatives(place["properties"][field.encode_name])}
        assert json_types(hints[field.name]) == wanted, field.name
        may_lack = msgspec.UnsetType in typing.get_args(hints[field.name])
        assert (field.encode_name in place["required"]) is not may_lack, field.name


def test_every_type_of_corehops_own_outputs_is_held_to_a_schema() -> None:
    modules = [candidates, counters, info, optimize, partition, plan, replay]
    found = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    }
    assert found == set(PLACES)


FUNCTION: dict[str, Any] = {
    "symbol": "serve",
    "mode": "enter",
    "module": "/server",
    "build_id": "0a",
    "offset": 8,
}

# Every kind of planned function, and how it is described.
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "core": ({"core": 1}, "core 1 from serve"),
    "call": ({"core": 1, "mode": "call"}, "core 1 for calls of serve"),
    "argument": ({"by": "argument 3"}, "core of argument 3 from serve"),
    "argument later": (
        {"by": "argument 3", "after": 4},
        "core of argument 3 from serve, after 4 calls about it",
    ),
    "k-th call": ({"core": 1, "call": 6}, "core 1 from call 6 of serve"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_planned_function_is_read_and_described(kind: str) -> None:
    keys, expected = KINDS[kind]
    text = json.dumps(FUNCTION | keys)
    assert corehop_json.parse(text, plan.PlannedFunction, "it").described("serve") == expected


@pytest.mark.parametrize("keys", [{}, {"core": 1, "by": "argument 1"}, {"core": None}])
def test_a_function_that_no_plan_has_is_refused_with_the_place(keys: dict[str, Any]) -> None:
    with pytest.raises(corehop_json.BadOutputError, match=r"split\.json: "):
        corehop_json.parse(json.dumps(FUNCTION | keys), plan.PlannedFunction, "split.json")
