"""The cache between runs, and entries that must not be trusted."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Symbolize

SOURCE = "static int inner(int x) { return x * 3; } int outer(int x) { return inner(x); }"


def entries(cache_home: Path) -> list[Path]:
    return sorted((cache_home / "corehop" / "symbols").rglob("*.json"))


def test_a_second_run_reads_what_the_first_kept(
    symbolize: Symbolize, cache_home: Path, compiled: Callable[..., Path]
) -> None:
    library = compiled(SOURCE, "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567")
    first = symbolize(library)
    (entry,) = entries(cache_home)
    assert entry.name.startswith("0123456789abcdef0123456789abcdef01234567-")

    # A changed entry with a valid checksum shows which result is printed.
    header, body = entry.read_text().split("\n", 1)
    changed = body.replace('"outer"', '"OUTER"')
    checksum = subprocess.run(
        ["sha256sum"], input=changed, capture_output=True, text=True, check=True
    ).stdout.split()[0]
    description = json.loads(header) | {"sha256": checksum}
    entry.write_text(json.dumps(description) + "\n" + changed)

    assert '"outer"' in first.stdout
    assert '"OUTER"' in symbolize(library).stdout
    assert symbolize("--no-cache", library).stdout == first.stdout


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole.replace(b"outer", b"ouzer"),
        lambda whole: whole.replace(b'"format": 1', b'"format": 0'),
        lambda whole: b"[" * 100_000,
        lambda whole: b"\xff\xfe" + whole,
    ],
)
def test_a_damaged_entry_is_made_anew(
    symbolize: Symbolize,
    cache_home: Path,
    compiled: Callable[..., Path],
    damage: Callable[[bytes], bytes],
) -> None:
    library = compiled(SOURCE)
    first = symbolize(library)
    (entry,) = entries(cache_home)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert entry.read_bytes() != whole

    assert symbolize(library).stdout == first.stdout
    assert entry.read_bytes() == whole


def test_files_without_a_build_id_are_told_apart_by_content(
    symbolize: Symbolize, cache_home: Path, compiled: Callable[..., Path]
) -> None:
    one = compiled(SOURCE, "-Wl,--build-id=none")
    two = compiled(SOURCE.replace("outer", "other"), "-Wl,--build-id=none")
    results = [json.loads(symbolize(library).stdout) for library in (one, two)]
    assert [result["build_id"] for result in results] == ["", ""]
    assert all(entry.name.startswith("sha256-") for entry in entries(cache_home))
    assert len(entries(cache_home)) == 2
    assert "other" in {function["symbol"] for function in results[1]["functions"]}


def test_a_stripped_copy_does_not_take_the_names_of_the_whole_file(
    symbolize: Symbolize, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    library = compiled(SOURCE, "-O0")
    stripped = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", stripped, library], check=True)
    whole, bare = (json.loads(symbolize(path).stdout) for path in (library, stripped))
    assert whole["build_id"] == bare["build_id"] != ""
    assert "inner" in {function["symbol"] for function in whole["functions"]}
    assert "inner" not in {function["symbol"] for function in bare["functions"]}


def test_renamed_functions_of_one_build_have_their_new_names(
    symbolize: Symbolize, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    library = compiled(SOURCE, "-O0")
    renamed = tmp_path / "renamed.so"
    subprocess.run(
        ["objcopy", "--redefine-sym", "inner=other", library, renamed],
        check=True,
    )
    old, new = (json.loads(symbolize(path).stdout) for path in (library, renamed))
    assert old["build_id"] == new["build_id"] != ""
    names = [{function["symbol"] for function in told["functions"]} for told in (old, new)]
    assert "inner" in names[0]
    assert "other" not in names[0]
    assert "other" in names[1]
    assert "inner" not in names[1]


def test_new_names_in_a_debug_file_are_read(
    symbolize: Symbolize, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    library = compiled(SOURCE, "-O0")
    debug, stripped = tmp_path / "names.debug", tmp_path / "stripped.so"
    subprocess.run(["objcopy", "--only-keep-debug", library, debug], check=True)
    subprocess.run(["strip", "-o", stripped, library], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", stripped], check=True)
    assert '"inner"' in symbolize(stripped).stdout
    subprocess.run(["objcopy", "--redefine-sym", "inner=other", debug], check=True)
    subprocess.run(["objcopy", "--remove-section=.gnu_debuglink", stripped], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", stripped], check=True)
    told = symbolize(stripped).stdout
    assert '"other"' in told
    assert '"inner"' not in told


def test_an_unwritable_cache_costs_time_only(
    symbolize: Symbolize, cache_home: Path, compiled: Callable[..., Path]
) -> None:
    cache_home.write_text("a file where the folder should be")
    result = symbolize(compiled(SOURCE))
    assert (result.returncode, result.stderr) == (0, "")


def test_nobody_else_can_write_to_the_cache(
    symbolize: Symbolize, cache_home: Path, compiled: Callable[..., Path]
) -> None:
    mask = os.umask(0)
    try:
        symbolize(compiled(SOURCE))
    finally:
        os.umask(mask)
    (entry,) = entries(cache_home)
    for folder in (entry.parent, entry.parent.parent, entry.parent.parent.parent):
        assert folder.stat().st_mode & 0o077 == 0
