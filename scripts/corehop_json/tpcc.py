"""The output of `corehop-tpcc run --json` and `checksum --json`."""

from __future__ import annotations

import msgspec


class Load(msgspec.Struct, frozen=True):
    """The transactions of a load."""

    committed: int
    rolled_back: int
    requests: int
    statements: int


class Table(msgspec.Struct, frozen=True):
    """The contents of a table."""

    rows: int
    checksum: int


class Checksums(msgspec.Struct, frozen=True):
    """The checksums of all tables."""

    tables: dict[str, Table]
