"""The JSON output of corehop as types: one file for each kind of output that is read here.

Each type has only those keys of one object of configs/schemas/ that some reader uses. Keys added to
an output later therefore break no reader. A test compares every type with its schema. Reading
checks names, types, and nulls: a reader receives what it expects, or an error that names the place.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

Kind = TypeVar("Kind")


class BadOutputError(Exception):
    """Output does not match its type; the message names it, the place, and a remedy."""


def read(path: Path, kind: type[Kind]) -> Kind:
    """Read a file of this kind."""
    return decoded(path.read_bytes(), kind, str(path), "remove the file and run this again")


def parse(text: str | bytes, kind: type[Kind], name: str) -> Kind:
    """Parse the output of a command; `name` is the command's."""
    return decoded(text, kind, name, "build corehop from this checkout")


def decoded(text: str | bytes, kind: type[Kind], name: str, remedy: str) -> Kind:
    """Parse a text of this kind."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise BadOutputError(f"{name}: {error}: {remedy}") from error


def given(value: Kind | msgspec.UnsetType, name: str) -> Kind:
    """Return a value that an output has under the options used; `name` is its key."""
    if value is msgspec.UNSET:
        raise BadOutputError(f"corehop printed no `{name}`: build corehop from this checkout")
    return value
