"""Files without readable functions: one line with the file name, and exit code 3."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Symbolize

SOURCE = "int outer(int x) { return x; }"


def refusal(symbolize: Symbolize, path: Path) -> str:
    result = symbolize(path)
    assert (result.returncode, result.stdout) == (3, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"corehop-symbolizer: {path}: ")
    assert ";" in line, "a remedy follows the problem"
    return line


def patched(whole: bytes, place: int, replacement: bytes) -> bytes:
    return whole[:place] + replacement + whole[place + len(replacement) :]


def test_a_missing_file(symbolize: Symbolize, tmp_path: Path) -> None:
    assert "no such file" in refusal(symbolize, tmp_path / "absent")


def test_a_folder(symbolize: Symbolize, tmp_path: Path) -> None:
    assert "Is a directory" in refusal(symbolize, tmp_path)


def test_of_several_files_the_others_are_read(
    symbolize: Symbolize, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    library, absent = compiled(SOURCE), tmp_path / "absent"
    alone = symbolize(library).stdout
    assert symbolize(library, library).stdout == alone + alone
    result = symbolize(absent, library, tmp_path)
    assert result.returncode == 3
    first, second, third = result.stdout.splitlines(keepends=True)
    assert second == alone
    told = [json.loads(line) for line in (first, third)]
    assert [line["path"] for line in told] == [str(absent), str(tmp_path)]
    said = [f"corehop-symbolizer: {line['error']}" for line in told]
    assert result.stderr.splitlines() == said
    assert "no such file" in said[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda whole: b"", "empty"),
        (lambda whole: b"#!/bin/sh\n", "not an ELF file"),
        (lambda whole: b"\x7fEL", "truncated"),
        (lambda whole: whole[:40], "truncated"),
        (lambda whole: whole[: len(whole) // 2], "truncated"),
        (lambda whole: whole[:-1], "truncated"),
        (lambda whole: patched(whole, 4, b"\x01"), "64-bit"),
        (lambda whole: patched(whole, 5, b"\x02"), "another architecture"),
        (lambda whole: patched(whole, 18, b"\xb7\x00"), "another architecture (ELF machine 183)"),
        (lambda whole: patched(whole, 16, b"\x04\x00"), "ELF type 4"),
        (lambda whole: patched(whole, 40, bytes(8)), "no section headers"),
    ],
)
def test_a_file_that_is_not_what_it_should_be(
    symbolize: Symbolize,
    compiled: Callable[..., Path],
    change: Callable[[bytes], bytes],
    problem: str,
) -> None:
    library = compiled(SOURCE)
    library.write_bytes(change(library.read_bytes()))
    assert problem in refusal(symbolize, library)


def test_flipped_bits_never_show_a_traceback(
    compiled: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from corehop_symbolizer.command import main  # noqa: PLC0415 (in process: 300 starts are slow)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    whole = compiled(SOURCE, language="c++").read_bytes()
    chooser = random.Random(20120704)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(4):
            damaged[chooser.randrange(len(damaged))] ^= 1 << chooser.randrange(8)
        path = tmp_path / "flipped.so"
        path.write_bytes(damaged)
        code = main(["--no-cache", str(path)])
        captured = capsys.readouterr()
        assert code in (0, 3), captured.err
        assert len(captured.err.splitlines()) == (1 if code else 0)


def test_an_output_that_exists_is_kept(
    symbolize: Symbolize, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    library, output = compiled(SOURCE), tmp_path / "out.json"
    output.write_text("mine")
    refused = symbolize(library, "-o", output)
    assert refused.returncode == 4
    assert "--force" in refused.stderr
    assert output.read_text() == "mine"

    assert symbolize(library, "-o", output, "--force").returncode == 0
    assert output.read_text() == symbolize(library).stdout
    assert symbolize(library, "-o", tmp_path / "absent" / "out.json").returncode == 4


def test_a_reader_that_leaves_early_is_no_error(symbolize: Symbolize, cache_home: Path) -> None:
    import os  # noqa: PLC0415
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415

    environment = {**os.environ, "XDG_CACHE_HOME": str(cache_home)}
    process = subprocess.Popen(
        [sys.executable, "-m", "corehop_symbolizer", "/usr/bin/redis-server"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_pipe_is_written_to_and_stays_one(
    symbolize: Symbolize, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    library = compiled("int f(void) { return 1; }")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Opened for both directions, so that neither side blocks; the output fits into a pipe.
    reader = os.open(pipe, os.O_RDWR)
    assert symbolize(library, "-o", pipe, "--force").returncode == 0
    assert json.loads(os.read(reader, 1 << 16)) == json.loads(symbolize(library).stdout)
    os.close(reader)
    assert pipe.is_fifo()


def test_what_is_neither_file_nor_stream_is_left_alone(
    symbolize: Symbolize, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    library = compiled("int f(void) { return 1; }")
    link, kept = tmp_path / "link", tmp_path / "kept"
    kept.write_text("kept")
    link.symlink_to(kept)
    for output in (tmp_path, link):
        refused = symbolize(library, "-o", output, "--force")
        assert refused.returncode == 4
        assert "is no regular file" in refused.stderr
    assert kept.read_text() == "kept"
    assert link.is_symlink()
