"""What a release consists of, and when there is none (scripts/release.sh)."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1]
CHANGELOG = """# Changelog

## [Unreleased]

## [1.2.3] - 2026-01-02

The third.

## [1.2.2] - 2026-01-01

The second.
"""
SBOM_TOOL = """#!/bin/sh
echo '{"bomFormat": "CycloneDX"}'
"""


def git(checkout: Path, *words: str) -> None:
    """Run git without anybody's settings."""
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.invalid"]
    subprocess.run(["git", *who, *words], cwd=checkout, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a checkout in which everything is built and committed."""
    texts = {
        "Cargo.toml": '[workspace.package]\nversion = "1.2.3"\n',
        "CHANGELOG.md": CHANGELOG,
        ".gitignore": "target\n",
        "target/deb/corehop_1.2.3_amd64.deb": "package",
        "target/deb/corehop_1.2.3_amd64.debug": "symbols",
        "target/packages/package/corehop-1.2.3.crate": "crate",
        "target/packages/package/corehop-wire-1.2.3.crate": "wire",
        "target/packages/package/corehop-1.2.2.crate": "an older one",
        "target/tools/.crates.toml": '"cargo-sbom 0.10.0 (registry)" = ["cargo-sbom"]\n',
        "target/tools/bin/cargo-sbom": SBOM_TOOL,
    }
    for name, text in texts.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "target/tools/bin/cargo-sbom").chmod(0o755)
    for name in ["release.sh", "cargo-tool.sh", "deb/Containerfile"]:
        (tmp_path / "scripts" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SCRIPTS / name, tmp_path / "scripts" / name)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "all")
    return tmp_path


def release(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    script = checkout / "scripts/release.sh"
    return subprocess.run([script], check=False, capture_output=True, text=True)


def test_a_release_has_all_files_with_their_checksums(checkout: Path) -> None:
    """Packages, symbols, crates of the version, container file, SBOM, and notes."""
    done = release(checkout)
    assert done.returncode == 0, done.stderr
    folder = checkout / done.stdout.strip()
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    summed = {
        "corehop_1.2.3_amd64.deb",
        "corehop_1.2.3_amd64.debug",
        "crates/corehop-1.2.3.crate",
        "crates/corehop-wire-1.2.3.crate",
        "Containerfile",
        "corehop-1.2.3.cdx.json",
        "NOTES.md",
    }
    assert files == summed | {"SHA256SUMS"}
    assert (folder / "NOTES.md").read_text() == "The third.\n\n"
    sums = (line.split("  ", 1) for line in (folder / "SHA256SUMS").read_text().splitlines())
    expected = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in summed}
    assert {name: value for value, name in sums} == expected


def test_changes_that_are_not_committed_are_refused(checkout: Path) -> None:
    """The files would not be those of the commit."""
    (checkout / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.3"\n# changed\n')
    done = release(checkout)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the checkout has changes" in done.stderr
    assert not (checkout / "target/release-files").exists()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[Unreleased]\n", "[Unreleased]\n\n- A change.\n", "[Unreleased] has entries"),
        ("[1.2.3] - 2026-01-02", "[1.2.4] - 2026-01-02", "no heading '## [1.2.3]"),
        ("[1.2.3] - 2026-01-02", "[1.2.3]", "no heading '## [1.2.3]"),
    ],
)
def test_a_changelog_without_the_version_is_refused(
    checkout: Path, old: str, new: str, problem: str
) -> None:
    """The release would have no notes, or not all of them."""
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.replace(old, new))
    git(checkout, "commit", "--quiet", "--all", "--message", "changed")
    done = release(checkout)
    assert (done.returncode, done.stdout) == (1, "")
    assert problem in done.stderr
    assert "remedy: " in done.stderr
    assert not (checkout / "target/release-files").exists()
