"""Traces in files and at URLs: found, fetched, cached, and checked for changes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import fsspec
import pytest
from conftest import Workplace

from corehop_fleet import traces, work
from corehop_fleet.errors import InputError, MissingError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COREHOP_FLEET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_remote_trace_is_fetched_once_and_kept_by_its_content(cache: Path) -> None:
    url = "memory://fetched/one.trace"
    fsspec.filesystem("memory").pipe("/fetched/one.trace", b"one")
    wanted = sha256(b"one").hexdigest()
    assert work.fingerprint(url) == {"sha256": wanted, "size_bytes": 3}
    fsspec.filesystem("memory").rm("/fetched/one.trace")
    copy = work.local_copy(url, wanted)
    assert copy == cache / f"{wanted}.trace"
    assert copy.read_bytes() == b"one"
    assert list(cache.iterdir()) == [copy]


def test_a_damaged_copy_is_fetched_again(cache: Path) -> None:
    url = "memory://damaged/one.trace"
    fsspec.filesystem("memory").pipe("/damaged/one.trace", b"one")
    wanted = str(work.fingerprint(url)["sha256"])
    (cache / f"{wanted}.trace").write_bytes(b"on")
    assert work.local_copy(url, wanted).read_bytes() == b"one"


def test_a_trace_that_cannot_be_read_says_so(cache: Path) -> None:
    said = work.fingerprint("memory://nowhere/one.trace")
    assert said["error"].startswith("memory://nowhere/one.trace cannot be read: FileNotFoundError")


def test_a_pattern_gives_all_traces_that_fit(workplace: Workplace) -> None:
    memory = fsspec.filesystem("memory")
    for name in ("b", "a", "c"):
        memory.pipe(f"/pattern/{name}.trace", b"x")
    sweep = workplace.folder / "sweep.toml"
    found = traces.found("server", "memory://pattern/[ab].trace", sweep)
    assert [trace.url for trace in found] == [
        "memory:///pattern/a.trace",
        "memory:///pattern/b.trace",
    ]
    found = traces.found("server", "*.trace", sweep)
    assert [trace.name for trace in found] == ["one.trace", "two.trace"]
    with pytest.raises(InputError, match=r"traces\.server: nothing fits \*\.log"):
        traces.found("server", "*.log", sweep)


def test_a_changed_trace_has_another_version(workplace: Workplace) -> None:
    sweep = workplace.folder / "sweep.toml"
    before = traces.found("server", "one.trace", sweep)
    assert traces.found("server", "one.trace", sweep) == before
    workplace.write("one.trace", "another")
    assert traces.found("server", "one.trace", sweep) != before


def test_a_store_whose_package_is_missing_names_it(workplace: Workplace) -> None:
    with pytest.raises(MissingError) as raised:
        traces.found("server", "gs://bucket/one.trace", workplace.folder / "sweep.toml")
    assert "gcsfs" in str(raised.value)
    assert raised.value.remedy == "install that beside Dask, here and on the workers"
