"""The demo's load of redis, and where its steps look for programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from demo.layout import DEEP_LISTS, DEEP_PAGES, Layout, RedisLoad, Settings
from demo.processes import Keeper
from demo.stages import Stages, load_of


@pytest.mark.parametrize(
    ("version", "load"),
    [
        ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", DEEP_PAGES),
        ("Redis server v=8.0.2 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", DEEP_LISTS),
        ("Redis server v=10.1.0 sha=00000000:0", DEEP_LISTS),
    ],
)
def test_every_version_of_redis_has_a_load_that_it_walks(version: str, load: RedisLoad) -> None:
    assert load_of(version) == load
    scripts = {path.name for path in Layout.of_checkout().load(load).iterdir()}
    assert {"fill.sh", "drive.sh"} <= scripts


def test_the_demo_finds_what_the_set_up_built_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/the/users/cache")
    with Keeper(tmp_path) as keeper:
        Stages(Layout(tmp_path), Settings(), keeper)
    assert os.environ["XDG_CACHE_HOME"] == "/the/users/cache"
