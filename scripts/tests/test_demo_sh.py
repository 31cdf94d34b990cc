"""`make demo` if the set-up cannot install packages: the sample, or the failure."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from stand_ins import write

SCRIPT = Path(__file__).resolve().parents[1] / "demo.sh"


def demo(folder: Path, *, set_up: int, build: int, search: int = 0) -> tuple[int, str]:
    """Run the script with a set-up, a build, and a search that end with these codes."""
    write(folder / "scripts/setup.sh", f"exit {set_up}")
    shutil.copy(SCRIPT, folder / "scripts/demo.sh")
    write(folder / "bin/cargo", f"exit {build}")
    write(folder / "target/release/corehop", f"echo searched\nexit {search}")
    write(folder / ".venv/bin/python", "echo the demo")
    ended = subprocess.run(
        ["sh", "scripts/demo.sh"],
        cwd=folder,
        env={"PATH": f"{folder}/bin:/usr/bin:/bin", "CARGO_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout


def test_the_demo_follows_a_set_up_that_succeeds(tmp_path: Path) -> None:
    assert demo(tmp_path, set_up=0, build=0) == (0, "the demo\n")


def test_without_packages_the_sample_is_searched_and_what_is_left_out_is_named(
    tmp_path: Path,
) -> None:
    code, printed = demo(tmp_path, set_up=7, build=0)
    assert code == 0
    first, *left_out = printed.splitlines()
    assert first == "searched"
    assert "  recording, patched runs and their checksums of MariaDB, and all of redis" in left_out
    assert "the demo" not in left_out


@pytest.mark.parametrize(("build", "search", "code"), [(101, 0, 101), (0, 3, 3)])
def test_a_sample_that_fails_is_not_passed_off_as_shown(
    tmp_path: Path, build: int, search: int, code: int
) -> None:
    ended, printed = demo(tmp_path, set_up=7, build=build, search=search)
    assert ended == code
    assert "Left out" not in printed


@pytest.mark.parametrize(("set_up", "build", "code"), [(6, 0, 6), (0, 101, 101)])
def test_other_failures_before_the_demo_keep_their_codes(
    tmp_path: Path, set_up: int, build: int, code: int
) -> None:
    assert demo(tmp_path, set_up=set_up, build=build) == (code, "")
