"""MariaDB in the demo's folders: creates a data directory, and runs a server on one.

A server listens on a socket in a short temporary folder (a socket's path has at most 107 bytes) and
keeps its temporary tables there. In a shared folder, starting servers would remove each other's.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demo.layout import MARIADBD, Layout, StepError
from demo.processes import Command, Keeper, Streams

SYSTEM_TABLES = (
    Path("/usr/share/mysql/mysql_system_tables.sql"),
    Path("/usr/share/mariadb/mariadb_system_tables.sql"),
)
"""The tables of MariaDB 10.11 and 11.8; their contents are next to them, `_data` in the name."""

BUFFER_POOL = ("--innodb-buffer-pool-size=64M", "--innodb-buffer-pool-size-max=64M")
"""QEMU keeps flags for every reserved page, and without a maximum mariadbd reserves 8 TB."""


START_SECONDS = 300


@dataclass(frozen=True)
class Program:
    """The program to start: the server itself, or a program that runs it."""

    server: Path = MARIADBD
    prefix: tuple[str | Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_recorded(self) -> bool:
        """Return whether the server runs under the recorder, which is slow and shows progress."""
        return bool(self.prefix)


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    process: subprocess.Popen[str]
    socket: Path


def options(data: Path, temporary: Path) -> list[str]:
    """Return the options of every server of the demo."""
    result = [
        "--no-defaults",
        f"--datadir={data}",
        f"--tmpdir={temporary}",
        "--skip-networking",
        "--skip-log-bin",
        "--innodb-log-file-size=16M",
        # The defaults need more open files than many shells allow.
        "--max-connections=20",
        "--table-open-cache=200",
        *BUFFER_POOL,
    ]
    if os.getuid() == 0:
        result.append("--user=root")
    return result


def make_data_directory(keeper: Keeper, data: Path) -> None:
    """Create the system tables; root connects without a password."""
    data.mkdir(parents=True)
    statements = "create database mysql;\nuse mysql;\n"
    tables = next((path for path in SYSTEM_TABLES if path.is_file()), SYSTEM_TABLES[0])
    statements += tables.read_text() + tables.with_stem(f"{tables.stem}_data").read_text()
    with tempfile.TemporaryDirectory(prefix="corehop-") as temporary:
        script = Path(temporary) / "system-tables.sql"
        script.write_text(statements)
        command: Command = [MARIADBD, *options(data, Path(temporary)), "--bootstrap"]
        keeper.run(command, Streams("bootstrap.log", given=script), seconds=120)


@contextlib.contextmanager
def running(
    keeper: Keeper, layout: Layout, data: Path, program: Program | None = None
) -> Iterator[Running]:
    """Run a server until the context exits; it must then end without an error."""
    program = program or Program()
    name = program.server.name
    with tempfile.TemporaryDirectory(prefix="corehop-") as temporary:
        folder = Path(temporary)
        socket = folder / "socket"
        command: list[str | Path] = [*program.prefix, program.server, *options(data, folder)]
        command += [f"--socket={socket}"]
        command += [f"--pid-file={folder / 'pid'}", f"--log-error={layout.logs / 'mariadbd.log'}"]
        streams = Streams("server.log", quiet=not program.is_recorded)
        process = keeper.start(command, streams, environment=program.environment)
        try:
            wait_for(keeper, layout, process, socket, name)
            yield Running(process, socket)
        finally:
            keeper.stop(process)
    if process.returncode != 0:
        raise StepError(f"{name} ended with exit code {process.returncode}; see {layout.logs}")


def wait_for(
    keeper: Keeper, layout: Layout, process: subprocess.Popen[str], socket: Path, name: str
) -> None:
    """Wait until the server answers; under QEMU that takes half a minute."""
    command = (layout.tpcc, "wait", "--socket", socket, "--max-seconds", str(START_SECONDS))
    waiter = keeper.start(command, Streams("server.log"))
    while waiter.poll() is None:
        if process.poll() is not None:
            keeper.stop(waiter)
            raise StepError(
                f"{name} ended with exit code {process.returncode} instead of starting; "
                f"see {layout.logs}"
            )
        time.sleep(0.02)
    keeper.stop(waiter)
    if waiter.returncode != 0:
        raise StepError(f"{name} did not answer within {START_SECONDS} s; see {layout.logs}")
