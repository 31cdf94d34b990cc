"""The demo's load of redis."""

from __future__ import annotations

import pytest

from demo.layout import DEEP_LISTS, DEEP_PAGES, Layout, RedisLoad
from demo.stages import load_of


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
