"""Names that were stripped from a file into a separate debug file."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import Symbolize

from corehop_symbolizer import debug_file
from corehop_symbolizer.image import opened

Functions = Callable[[str | Path], list[dict[str, Any]]]
Compiled = Callable[..., Path]

SOURCE = """
namespace shop { __attribute__((noinline)) static int price(int x) { return x * 3 + 1; } }
extern "C" int outer(int x) { return shop::price(x) + shop::price(x + 1); }
"""
IDENTITY = "0123456789abcdef0123456789abcdef01234567"
STRIPPED_NAME = "shop::price(int)"


def split(library: Path, debug: Path, *, link: bool) -> None:
    """Move the names of a library to a debug file, as distributions do."""
    debug.parent.mkdir(parents=True, exist_ok=True)
    # objcopy stores the name and the checksum of the given file.
    for command in (
        ["objcopy", "--only-keep-debug", str(library), str(debug)],
        ["strip", str(library)],
        ["objcopy", f"--add-gnu-debuglink={debug}", str(library)],
    )[: 3 if link else 2]:
        subprocess.run(command, check=True)


def names(found: list[dict[str, Any]]) -> set[str]:
    return {function["name"] for function in found}


@pytest.fixture
def library(compiled: Compiled) -> Path:
    return compiled(SOURCE, "-g", f"-Wl,--build-id=0x{IDENTITY}", language="c++")


@pytest.mark.parametrize("folder", [".", ".debug"])
@pytest.mark.parametrize("identity", [IDENTITY, ""])
def test_a_link_leads_to_the_names(
    folder: str, identity: str, compiled: Compiled, functions: Functions
) -> None:
    build_id = f"--build-id=0x{identity}" if identity else "--build-id=none"
    library = compiled(SOURCE, f"-Wl,{build_id}", language="c++")
    whole = functions(library)
    assert STRIPPED_NAME in names(whole)
    debug = library.parent / folder / "names.debug"
    split(library, debug, link=True)
    assert functions(library) == whole

    debug.rename(debug.with_name("elsewhere"))
    assert STRIPPED_NAME not in names(functions(library))


def test_a_file_of_another_build_is_passed_over(
    compiled: Compiled, functions: Functions, library: Path
) -> None:
    debug = library.parent / "names.debug"
    split(library, debug, link=True)
    assert STRIPPED_NAME in names(functions(library))
    other = compiled(SOURCE, "-Wl,--build-id=0x1234", language="c++")
    whole = debug.read_bytes()
    for contents in (other.read_bytes(), whole[: len(whole) // 2], b"", b"not an ELF file"):
        debug.write_bytes(contents)
        assert "outer" in names(functions(library))
        assert STRIPPED_NAME not in names(functions(library))


def test_a_link_that_leads_out_of_the_folder_is_not_followed(
    library: Path, functions: Functions
) -> None:
    split(library, library.parent / "aa" / "names.debug", link=True)
    section = library.parent / "link"
    dump = ["objcopy", "--dump-section", f".gnu_debuglink={section}", str(library)]
    subprocess.run(dump, check=True)
    checksum = section.read_bytes()[-4:]
    for text in (b"aa/names.debug\0\0" + checksum, b"names.debug", b"\0\0\0\0" + checksum, b".."):
        section.write_bytes(text)
        update = ["objcopy", "--update-section", f".gnu_debuglink={section}", str(library)]
        subprocess.run(update, check=True)
        assert STRIPPED_NAME not in names(functions(library))
        assert "outer" in names(functions(library))


def test_the_system_s_folder_is_asked_by_build_id_and_by_place(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere = tmp_path / "debug"
    monkeypatch.setenv(debug_file.VARIABLE, f"/nowhere:{everywhere}")
    by_build_id = everywhere / ".build-id" / IDENTITY[:2] / f"{IDENTITY[2:]}.debug"
    by_place = everywhere / str(library.parent)[1:] / by_build_id.name
    split(library, by_build_id, link=True)
    assert found(library) == str(by_build_id)
    by_place.parent.mkdir(parents=True)
    by_build_id.rename(by_place)
    assert found(library) == str(by_place)


def found(library: Path) -> str | None:
    with opened(str(library)) as image, debug_file.opened_beside(image) as debug:
        return None if debug is None else debug.path


@contextmanager
def serving(answers: dict[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Serve these paths; yield the address and the list of requested paths."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            contents = answers.get(self.path)
            self.send_response(404 if contents is None else 200)
            self.end_headers()
            self.wfile.write(contents or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_debuginfod_is_asked_once_where_it_is_configured(
    library: Path, functions: Functions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debug = tmp_path / "served" / "names.debug"
    split(library, debug, link=False)
    kept = tmp_path / "kept" / IDENTITY / "debuginfo"
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "kept"))
    place = f"/buildid/{IDENTITY}/debuginfo"
    with serving({}) as (nothing, in_vain), serving({place: debug.read_bytes()}) as (url, asked):
        monkeypatch.setenv("DEBUGINFOD_URLS", f"ima:enforcing {nothing}/ {url}")
        monkeypatch.setenv("DEBUGINFOD_MAXSIZE", "100")
        assert STRIPPED_NAME not in names(functions(library))
        assert not kept.exists()
        monkeypatch.delenv("DEBUGINFOD_MAXSIZE")
        for _ in range(2):
            assert STRIPPED_NAME in names(functions(library))
    assert asked == in_vain == [place, place]
    # Both servers are gone; only the cache is left.
    assert kept.read_bytes() == debug.read_bytes()
    assert STRIPPED_NAME in names(functions(library))


def test_what_no_server_has_is_asked_for_again_after_ten_minutes(
    library: Path, functions: Functions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split(library, tmp_path / "served" / "names.debug", link=False)
    kept = tmp_path / "kept" / IDENTITY / "debuginfo"
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "kept"))
    with serving({}) as (url, asked):
        monkeypatch.setenv("DEBUGINFOD_URLS", url)
        for age_seconds, times in ((0, 1), (300, 1), (700, 2)):
            if kept.exists():
                then = time.time() - age_seconds
                os.utime(kept, (then, then))
            assert STRIPPED_NAME not in names(functions(library))
            assert (len(asked), kept.stat().st_size) == (times, 0)


def test_a_debug_file_that_is_installed_later_is_seen(
    library: Path, symbolize: Symbolize, tmp_path: Path
) -> None:
    debug = library.parent / "names.debug"
    split(library, debug, link=True)
    debug.rename(away := tmp_path / "away")
    assert STRIPPED_NAME not in names(json.loads(symbolize(library).stdout)["functions"])
    away.rename(debug)
    assert STRIPPED_NAME in names(json.loads(symbolize(library).stdout)["functions"])


def test_a_pipe_is_no_debug_file_and_no_program(
    library: Path, functions: Functions, tmp_path: Path, symbolize: Symbolize
) -> None:
    debug = library.with_name("names.debug")
    split(library, debug, link=True)
    debug.unlink()
    os.mkfifo(debug)
    assert STRIPPED_NAME not in names(functions(library))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refused = symbolize(pipe)
    assert refused.returncode == 3
    assert "it is a pipe" in refused.stderr
