"""The types of corehop's JSON match its schemas, and accept every kind of plan."""

from __future__ import annotations

import json
import types
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_up import optimized

import corehop_json
from corehop_json import (
    candidates,
    counters,
    info,
    optimize,
    partition,
    patch,
    plan,
    replay,
    replay_system_calls,
    statistics,
    system_calls,
)

SCHEMAS = Path(__file__).resolve().parents[2] / "configs/schemas"

REPLAYED: list[str | int] = ["$defs", "replay", "properties"]
TRIED: list[str | int] = ["properties", "tried", "items", "properties"]

# The place of each type in the schemas: a file, and the path to its object.
PLACES: dict[type[msgspec.Struct], tuple[str, list[str | int]]] = {
    plan.PlannedFunction: ("definitions", ["$defs", "planned_function"]),
    counters.Level: ("definitions", ["$defs", "level"]),
    counters.Counters: ("definitions", ["$defs", "counters"]),
    partition.Comparison: ("definitions", ["$defs", "comparison"]),
    partition.Partitioned: ("partition", []),
    optimize.Optimized: ("optimize", []),
    optimize.Group: ("definitions", ["$defs", "groups", "items"]),
    optimize.Tried: ("optimize", ["properties", "tried", "items"]),
    optimize.Predicted: ("optimize", [*TRIED, "predicted"]),
    optimize.Speedup: ("optimize", [*TRIED, "predicted", "properties", "speedup"]),
    replay.Replayed: ("replay", ["$defs", "replay"]),
    replay.Baseline: ("replay", [*REPLAYED, "baseline"]),
    replay.Code: ("replay", [*REPLAYED, "functions", "items"]),
    replay.Spread: ("definitions", ["$defs", "spread"]),
    replay.WorkingSet: ("replay", [*REPLAYED, "working_set"]),
    replay.Modes: ("replay", [*REPLAYED, "modes"]),
    replay.Visit: ("replay", [*REPLAYED, "modes", "properties", "visits", "items"]),
    replay_system_calls.ReplayedSystemCalls: ("replay-system-calls", []),
    replay_system_calls.BothModes: ("replay-system-calls", ["$defs", "both_modes"]),
    replay_system_calls.Way: ("replay-system-calls", ["properties", "posted", "items"]),
    patch.Unsafe: ("patch-list-unsafe", []),
    patch.UnsafeFunction: ("patch-list-unsafe", ["properties", "unsafe", "items"]),
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


def defined(name: str) -> Any:
    """Return the definition of this name, shared by all schemas or by those of replays."""
    for file in ("definitions", "replay-system-calls"):
        found = schema(file)["$defs"].get(name)
        if found is not None:
            return found
    raise KeyError(name)


def alternatives(of: Any) -> list[Any]:
    """Return the alternatives of a value, each with one type, with references resolved."""
    if "$ref" in of:
        return alternatives(defined(of["$ref"].rpartition("/")[2]))
    if "anyOf" in of or ("oneOf" in of and "type" not in of):
        return [one for each in of.get("anyOf", of.get("oneOf")) for one in alternatives(each)]
    if "enum" in of:
        return [{"type": "null" if value is None else "string"} for value in of["enum"]]
    kinds = of["type"] if isinstance(of["type"], list) else [of["type"]]
    return [{**of, "type": kind} for kind in kinds]


def json_types(field: Any) -> set[str]:
    """Return the names of the JSON types that a field accepts."""
    origin = typing.get_origin(field)
    if origin in (typing.Union, types.UnionType):
        return set().union(*(json_types(one) for one in typing.get_args(field)))
    if field is msgspec.UnsetType:
        return set()
    if isinstance(field, type) and issubclass(field, msgspec.Struct):
        return {"object"}
    return {JSON_TYPES[origin or field]}


def items_of(field: Any) -> list[Any]:
    """Return the types of the items of an array field."""
    origin = typing.get_origin(field)
    if origin in (typing.Union, types.UnionType):
        return [item for one in typing.get_args(field) for item in items_of(one)]
    return list(typing.get_args(field)) if origin in (list, tuple) else []


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
        if typing.get_origin(hints[field.name]) is typing.Literal:
            values = place["properties"][field.encode_name]["enum"]
            assert set(typing.get_args(hints[field.name])) == set(values), field.name
        for item in items_of(hints[field.name]):
            arrays = alternatives(place["properties"][field.encode_name])
            of = next(array["items"] for array in arrays if array["type"] == "array")
            assert json_types(item) == {one["type"] for one in alternatives(of)}, field.name


# Keys of a plan that identify the function, but not where the thread migrates.
NOT_READ = {"module", "build_id", "offset"}


def test_a_new_kind_of_planned_function_is_a_new_field_of_the_type() -> None:
    place = described(plan.PlannedFunction)
    fields = {field.encode_name for field in msgspec.structs.fields(plan.PlannedFunction)}
    assert set(place["properties"]) == fields | NOT_READ
    assert place["oneOf"] == [{"required": ["core"]}, {"required": ["by"]}]


def test_every_type_of_corehops_own_outputs_is_held_to_a_schema() -> None:
    modules = [candidates, counters, info, optimize, partition, patch, plan, replay]
    modules.append(replay_system_calls)
    found = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    }
    assert found == set(PLACES)


def test_every_key_of_the_statistics_is_written_by_the_runtime() -> None:
    written = (SCHEMAS.parents[1] / "runtime" / "decisions" / "statistics.c").read_text()
    kinds = [kind for kind in vars(statistics).values() if isinstance(kind, type)]
    structs = [kind for kind in kinds if issubclass(kind, msgspec.Struct)]
    names = [field.encode_name for kind in structs for field in msgspec.structs.fields(kind)]
    assert "failed_hops" in names
    for name in names:
        assert f'\\"{name}\\":' in written, name


FUNCTION: dict[str, Any] = {
    "symbol": "serve",
    "mode": "enter",
    "module": "/server",
    "build_id": "0a",
    "offset": 8,
}

# Every kind of planned function, and its description.
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "core": ({"core": 1}, "core 1 from serve"),
    "delegated": ({"core": 1, "mode": "call"}, "calls of serve on core 1"),
    "argument": ({"by": "argument 3"}, "core of argument 3 from serve"),
    "argument later": (
        {"by": "argument 3", "after": 4},
        "core of argument 3 from serve, after 4 calls about it",
    ),
    "argument after one call": (
        {"by": "argument 3", "after": 1},
        "core of argument 3 from serve, after 1 call about it",
    ),
    "argument, delegated": (
        {"by": "argument 3", "mode": "call"},
        "calls of serve on core of argument 3",
    ),
    "k-th call": ({"core": 1, "call": 6}, "core 1 from call 6 of serve"),
    "k-th call, delegated": (
        {"core": 1, "call": 6, "mode": "call"},
        "call 6 of serve on core 1",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_planned_function_is_read_and_described(kind: str) -> None:
    keys, expected = KINDS[kind]
    text = json.dumps(FUNCTION | keys)
    assert corehop_json.parse(text, plan.PlannedFunction, "it").described("serve") == expected


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"core": 1, "by": "argument 1"},
        {"core": None},
        {"core": 1, "after": 2},
        {"by": "argument 1", "call": 2},
        {"core": 1, "mode": "count"},
    ],
)
def test_a_function_that_no_plan_has_is_refused_with_the_place(keys: dict[str, Any]) -> None:
    with pytest.raises(corehop_json.BadOutputError, match=r"^split\.json: .*: build corehop"):
        corehop_json.parse(json.dumps(FUNCTION | keys), plan.PlannedFunction, "split.json")


def test_a_file_of_another_kind_is_named_with_the_place_and_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    path.write_text('{"hops": "many"}')
    with pytest.raises(corehop_json.BadOutputError) as error:
        corehop_json.read(path, replay.Replayed)
    remedy = "remove the file and run this again"
    assert str(error.value) == f"{path}: Expected `int`, got `str` - at `$.hops`: {remedy}"


def test_what_may_lack_is_given_or_refused() -> None:
    assert corehop_json.given(0, "modes") == 0
    with pytest.raises(corehop_json.BadOutputError, match="no `modes`"):
        corehop_json.given(msgspec.UNSET, "modes")


# `best` is null if nothing was tried, and may be a candidate without a gain.
@pytest.mark.parametrize(
    ("gain", "best", "expected"), [(True, 0, 0), (False, 0, None), (False, None, None)]
)
def test_only_a_gain_pays(gain: bool, best: int | None, expected: int | None) -> None:
    found = optimized(gain=gain, best=best)
    assert found.pays() == (None if expected is None else found.tried[expected])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("recv,send@batch", "system calls recv,send batched by io_uring"),
        ("recv@batch:1", "system calls recv batched by io_uring, by a kernel thread on core 1"),
        ("read,write@1", "system calls read,write on core 1"),
        ("read@yield", "system calls read after other threads of the core"),
    ],
)
def test_system_calls_are_described_by_where_they_are_made(text: str, expected: str) -> None:
    assert system_calls.described(text) == expected
