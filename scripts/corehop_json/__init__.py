"""What corehop prints as JSON, as types: one file for each kind of output that is read here.

Each type has the keys of one object of configs/schemas/ that somebody reads, and no others, so that
what is added to an output later breaks no reader. A test holds every type against its schema.
Reading checks names, types and nulls: a reader meets what it expects, or an error that names the
place.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

Kind = TypeVar("Kind")


class BadOutputError(Exception):
    """Output is not what its kind has to be; the message names it, the place and a remedy."""


def read(path: Path, kind: type[Kind]) -> Kind:
    """Read a file of this kind."""
    return decoded(path.read_bytes(), kind, str(path), "remove the file and run this again")


def parse(text: str | bytes, kind: type[Kind], name: str) -> Kind:
    """Read what a command has printed; `name` is the command's."""
    return decoded(text, kind, name, "build corehop from this checkout")


def decoded(text: str | bytes, kind: type[Kind], name: str, remedy: str) -> Kind:
    """Read a text of this kind."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise BadOutputError(f"{name}: {error}: {remedy}") from error


def given(value: Kind | msgspec.UnsetType, name: str) -> Kind:
    """Give what an output has under the options it was asked for with; `name` is its key's."""
    if value is msgspec.UNSET:
        raise BadOutputError(f"corehop printed no `{name}`: build corehop from this checkout")
    return value
