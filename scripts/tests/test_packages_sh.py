"""The names of packages by release, in scripts/setup/packages.sh and scripts/guest.sh."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from stand_ins import write

SCRIPTS = Path(__file__).resolve().parents[1]
ASKED = "tcmalloc_package; mariadb_package server; python_package -venv; postgres_package"

NAMES = {
    "debian 12": "libtcmalloc-minimal4 mariadb-server-core python3-venv postgresql-15",
    "debian 13": "libtcmalloc-minimal4t64 mariadb-server-core python3-venv postgresql-17",
    "ubuntu 22.04": "libtcmalloc-minimal4 mariadb-server-core-10.6 python3.11-venv postgresql",
    "ubuntu 24.04": "libtcmalloc-minimal4t64 mariadb-server-core python3-venv postgresql",
}


def described(folder: Path, release: str) -> dict[str, str]:
    """Return an environment that describes this release; `folder` may have programs of it."""
    name, version = release.split()
    description = folder / "os-release"
    description.write_text(f'ID={name}\nVERSION_ID="{version}"\n')
    return {
        "OS_RELEASE": str(description),
        "PATH": f"{folder}/bin:/usr/bin:/bin",
        "HOME": str(folder),
    }


@pytest.mark.parametrize("release", NAMES)
def test_each_release_has_its_own_names(tmp_path: Path, release: str) -> None:
    sourced = ". setup/report.sh; . setup/packages.sh"
    ended = subprocess.run(
        ["sh", "-euc", f"{sourced}; {ASKED}"],
        cwd=SCRIPTS,
        env=described(tmp_path, release),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == NAMES[release].split()


@pytest.mark.parametrize(
    ("release", "depends", "kernel"),
    [
        (
            "debian 12",
            {"linux-image-cloud-amd64": "linux-image-6.1.0-9-cloud-amd64"},
            "linux-image-6.1.0-9-cloud-amd64",
        ),
        (
            "ubuntu 24.04",
            {
                "linux-image-virtual": "linux-image-6.8.0-31-generic",
                "linux-image-cloud-amd64": "linux-image-of-another-distribution",
            },
            "linux-image-6.8.0-31-generic",
        ),
    ],
)
def test_the_kernel_to_record_is_the_one_that_the_release_names(
    tmp_path: Path, release: str, depends: dict[str, str], kernel: str
) -> None:
    cases = "".join(f'{name}) echo "  Depends: {named}" ;;\n' for name, named in depends.items())
    write(tmp_path / "bin/apt-cache", f"case $2 in\n{cases}esac")
    write(tmp_path / "bin/apt-get", "exit 1")
    write(tmp_path / "bin/dpkg-deb", "exit 1")
    ended = subprocess.run(
        ["sh", SCRIPTS / "guest.sh"],
        env=described(tmp_path, release),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 7
    assert f"fetching {kernel} and busybox-static" in ended.stderr
