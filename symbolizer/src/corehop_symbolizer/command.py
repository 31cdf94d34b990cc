"""`corehop-symbolizer FILE...`: the command line; only this module prints errors."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from corehop_symbolizer import FORMAT_VERSION, cache
from corehop_symbolizer.debug_file import opened_beside
from corehop_symbolizer.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    OutputError,
    SymbolizerError,
)
from corehop_symbolizer.functions import Function, read_functions
from corehop_symbolizer.image import opened
from corehop_symbolizer.replace import write_beside

PROGRAM = "corehop-symbolizer"

EXIT_CODES = """\
exit codes:
  0    done
  2    the command line makes no sense
  3    the file is missing, damaged, or not an x86-64 ELF program or library
  4    the output cannot be written, or exists and --force was not given
  70   a mistake of the symbolizer's own
  130  interrupted
"""


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    description = (
        "Print the functions of x86-64 ELF files as JSON, a line each, sorted by entry address. "
        "If a file has no functions, its line contains the error, and the others are read."
    )
    result = argparse.ArgumentParser(
        prog=PROGRAM,
        description=description,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("files", metavar="FILE", nargs="+", help="program or shared library")
    result.add_argument("-o", "--output", default="-", metavar="OUT", help="default: - (stdout)")
    result.add_argument("--force", action="store_true", help="replace OUT where it exists")
    result.add_argument("--no-cache", action="store_true", help="read FILE whatever is cached")
    result.add_argument("--version", action="version", version=f"%(prog)s format {FORMAT_VERSION}")
    return result


def symbolize(path: str, *, use_cache: bool = True) -> tuple[bytes | bytearray, ...]:
    """Return the output for the file at `path`, in parts."""
    with opened(path) as image, opened_beside(image) as debug:
        entry_key = cache.key(image, debug) if use_cache else ""
        functions: bytes | bytearray | None = cache.load(entry_key) if use_cache else None
        if functions is None:
            functions = as_json(read_functions(image, debug))
            if use_cache:
                cache.store(entry_key, functions)
        origin = {"path": path, "build_id": image.build_id, "debug_file": debug and debug.path}
        about = encode(origin).removesuffix("}")
        return f'{about},"functions":'.encode(), functions, b"}\n"


def symbolize_each(paths: Sequence[str], *, use_cache: bool) -> tuple[list[bytes | bytearray], int]:
    """Return the output for all files, and the exit code of the first one without functions.

    For a single file without functions, the error is raised.
    """
    printed: list[bytes | bytearray] = []
    exit_code = 0
    for path in paths:
        try:
            printed.extend(symbolize(path, use_cache=use_cache))
        except SymbolizerError as error:
            if len(paths) == 1:
                raise
            print(f"{PROGRAM}: {error}", file=sys.stderr)
            exit_code = exit_code or error.exit_code
            printed.append(f"{encode({'path': path, 'error': str(error)})}\n".encode())
    return printed, exit_code


encode = json.JSONEncoder(separators=(",", ":")).encode


def as_json(functions: Iterable[Function]) -> bytearray:
    """Return the list as JSON, without holding all functions of a large file at once."""
    text = bytearray(b"[")
    for function in functions:
        text += encode(function).encode()
        text += b","
    text[max(1, len(text) - 1) :] = b"]"
    return text


def write_output(output: str, parts: Iterable[bytes | bytearray], *, force: bool) -> None:
    """Print the parts, or write them to a new file, a pipe or a device."""
    if output == "-":
        sys.stdout.buffer.writelines(parts)
        sys.stdout.flush()
        return
    target = Path(output)
    is_stream = target.is_char_device() or target.is_fifo()
    if not is_stream and (target.is_symlink() or (target.exists() and not target.is_file())):
        raise OutputError(output, "is no regular file", "name a file, a pipe or -")
    if target.is_file() and not force:
        raise OutputError(output, "the file exists", "add --force to replace it")
    try:
        if is_stream:
            with target.open("wb") as stream:
                stream.writelines(parts)
        else:
            write_beside(target, parts)
    except OSError as error:
        raise OutputError(
            output, f"cannot be written: {error.strerror}", "name another place with -o"
        ) from error


def run(arguments: argparse.Namespace) -> int:
    """Run the command line and return the exit code."""
    try:
        parts, exit_code = symbolize_each(arguments.files, use_cache=not arguments.no_cache)
        write_output(arguments.output, parts, force=arguments.force)
    except SymbolizerError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader closed the pipe; without this, Python would report it again at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"{PROGRAM}: {error}; free some space or name a file with -o", file=sys.stderr)
        return OutputError.exit_code
    return exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; errors never show a traceback."""
    parsed = parser().parse_args(arguments)
    try:
        return run(parsed)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        kind, files = type(error).__name__, ", ".join(parsed.files)
        print(
            f"{PROGRAM}: {files}: a mistake of ours ({kind}: {error}); please report it",
            file=sys.stderr,
        )
        return EXIT_INTERNAL
