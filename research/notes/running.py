"""Servers and tools that the scripts of these notes run, and the line of their machine."""

import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_S = 900


def machine() -> str:
    """Return the line with which figures begin."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return f"{os.cpu_count()} CPUs {model}, Linux {platform.release()}"


def l2() -> str:
    """Return the size of one L2."""
    asked = subprocess.run(["getconf", "LEVEL2_CACHE_SIZE"], check=True, stdout=subprocess.PIPE)
    return f"{int(asked.stdout) // 1024} KiB"


def run(command: list[str], *, stdin: Path | None = None) -> str:
    """Run a command that must succeed; return what it printed."""
    given = stdin.read_text(encoding="utf-8") if stdin else None
    ran = subprocess.run(
        command, input=given, check=False, capture_output=True, text=True, timeout=LONGEST_S
    )
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {ran.stdout}{ran.stderr}")
    return ran.stdout + ran.stderr


def listens(port: int) -> bool:
    """Return whether something listens on a port."""
    wanted = (f"0100007F:{port:04X} 00000000:0000 0A", f"00000000:{port:04X} 00000000:0000 0A")
    return any(one in Path("/proc/net/tcp").read_text(encoding="ascii") for one in wanted)


@contextmanager
def served(
    command: list[str], folder: Path, is_ready: Callable[[], bool]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server in a folder, wait until it is ready, and end it."""
    log = folder / "log"
    with log.open("w") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder)
    try:
        while not is_ready():
            if server.poll() is not None:
                raise SystemExit(f"{command[0]} ended: {log.read_text(errors='replace')}")
            time.sleep(0.02)
        yield server
    finally:
        server.terminate()
        try:
            server.wait(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            server.kill()
