"""Requirements of some tests that a machine may lack.

A test with such a requirement is in a module of the requirement's name. Without it, the test fails
with the remedy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
POSTGRES = Path("/usr/lib/postgresql")
PYTHON = Path("/usr/bin/python3").resolve()


@dataclass(frozen=True)
class Need:
    """A requirement: the module of the tests that need it, and the remedy if it is missing."""

    module: str
    # Returns what is missing, or nothing if all is there.
    missing: Callable[[], str | None]
    remedy: str


def kept() -> Path:
    """Return the folder for files that are fetched and built once."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(cache) / "corehop"


def guest() -> str | None:
    """Check for the parts of a machine to record. Not by corehop, whose failure is a bug."""
    if not shutil.which(os.environ.get("COREHOP_QEMU_SYSTEM", "qemu-system-x86_64")):
        return "no qemu-system-x86_64"
    for variable, pattern in [
        ("COREHOP_GUEST_KERNEL", "boot/vmlinuz-*"),
        ("COREHOP_GUEST_BUSYBOX", "bin/busybox"),
    ]:
        if variable not in os.environ and not any((kept() / "guest").glob(pattern)):
            return f"no {kept() / 'guest' / pattern}"
    return None


def described_caches() -> str | None:
    """Check for the kernel's description of the private caches."""
    found = {path.read_text().strip() for path in CPUS.glob("cpu*/cache/index*/level")}
    return None if {"1", "2"} <= found else f"no L1 and L2 in {CPUS}"


def qemu10() -> str | None:
    """Check for the QEMU of `make qemu`."""
    qemu = kept() / "qemu/qemu-x86_64"
    return None if qemu.is_file() else f"no {qemu}"


def postgres() -> str | None:
    """Check for QEMU 10 and for a postgres to record under it."""
    if missing := qemu10():
        return missing
    return None if any(POSTGRES.glob("*/bin/pgbench")) else f"no postgres in {POSTGRES}"


def programs_with_tests() -> str | None:
    """Check for programs with their own tests, and for these tests."""
    if not shutil.which("stress-ng"):
        return "no stress-ng"
    tests = Path("/usr/lib") / PYTHON.name / "test/test_signal.py"
    return None if tests.is_file() else f"no {tests}"


def spin() -> str | None:
    """Check for spin, which checks the models of the runtime."""
    return None if shutil.which("spin") else "no spin"


def gdb() -> str | None:
    """Check for gdb, whose backtraces must pass through hooks."""
    return None if shutil.which("gdb") else "no gdb"


def two_cpus() -> str | None:
    """Count the CPUs that tests may use."""
    return None if len(os.sched_getaffinity(0)) > 1 else "tests may use one CPU"


def root() -> str | None:
    """Check whether root runs the tests."""
    return None if os.geteuid() == 0 else "only root can become another user"


def mounts() -> str | None:
    """Try to create a mount namespace, which containers may forbid even root."""
    command = ["unshare", "-m", "mount", "--make-rprivate", "/"]
    if not shutil.which(command[0]):
        return "no unshare"
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip()


def devices() -> str | None:
    """Try to create a device, which containers may forbid even root."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.mknod(Path(folder) / "null", 0o020600, os.makedev(1, 3))
        except OSError as error:
            return f"this user may not make devices ({error.strerror})"
    return None


NEEDS = [
    Need("needs_guest", guest, "scripts/setup.sh test"),
    Need("needs_qemu10", qemu10, "make qemu"),
    Need("needs_postgres", postgres, "scripts/qemu.sh test"),
    Need("needs_programs_with_tests", programs_with_tests, "scripts/setup.sh test"),
    Need("needs_spin", spin, "scripts/setup.sh test"),
    Need("needs_gdb", gdb, "scripts/setup.sh test"),
    Need("needs_two_cpus", two_cpus, "allow another CPU (taskset), or give the machine one"),
    Need(
        "needs_described_caches",
        described_caches,
        "run where the kernel describes the caches in /sys/devices/system/cpu",
    ),
    Need("needs_root", root, "run the tests as root"),
    Need("needs_mounts", mounts, "run the tests as root, in a container with --privileged"),
    Need("needs_devices", devices, "run the tests as root, in a container with --privileged"),
]
