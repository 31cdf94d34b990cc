"""PostgreSQL's own tests, on Debian's server: `pg_regress` and its variant for concurrent sessions.

Debian's packages have the programs that run the tests, and the source has the tests. Each unit
starts one server in one folder, and compares psql's answers with the expected ones. The server
forks a process for each connection.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from demo.layout import StepError
from demo.processes import Command, Keeper, Streams
from upstream.placing import place_link
from upstream.verdict import UNFINISHED, Outcome

PACKAGES = Path("/usr/lib/postgresql")
BESIDE = ("initdb", "pg_ctl", "psql")
"""Programs that the tests start. They look for the server in their own folder."""

LIBRARIES = ("refint.so", "autoinc.so")
"""Modules of Debian's package that the tests load from the folder of the tests' own."""

RESULT = re.compile(r"^(?:test)?\s+(\S+)\s+\.\.\. (ok|FAILED)", re.MULTILINE)
TAP_RESULT = re.compile(r"^(ok|not ok) \d+\s+[-+] (\S+)", re.MULTILINE)
"""Of PostgreSQL 15 and before, and of those after it."""

END = re.compile(r"^[# ]*(?:All \d+ tests passed|\d+ of \d+ tests (?:failed|passed))", re.MULTILINE)
BUILDING_SECONDS = 600

UNITS = {
    "plpgsql": "src/pl/plpgsql/src",
    "isolation": "src/test/isolation",
    "regress": "src/test/regress",
}


class Postgres:
    """A unit is a folder of tests, which depend on each other."""

    name = "postgres"
    short: tuple[str, ...] = ("plpgsql",)

    def __init__(self, source: Path) -> None:
        """Work in PostgreSQL's source package."""
        self.source = source
        self.built = source / "built-by-corehop"
        self.package = newest(PACKAGES)
        self.program = self.package / "bin" / "postgres"

    def prepare(self, keeper: Keeper) -> None:
        """Build the module of the tests, and link Debian's other programs next to the server."""
        programs, module = self.built / "bin", self.built / "regress.so"
        programs.mkdir(parents=True, exist_ok=True)
        for name in BESIDE:
            shutil.copy(self.program.with_name(name), programs / name)
        for name in LIBRARIES:
            place_link(self.built / name, self.package / "lib" / name)
        if module.exists():
            return
        configured = ["./configure", "--without-readline", "--without-zlib", "--without-icu"]
        compiled = ["gcc", "-O2", "-w", "-shared", "-fPIC", "-Isrc/include"]
        made: Command = [*compiled, "src/test/regress/regress.c", "-o", module]
        generated: Command = ["make", "-C", "src/backend", "generated-headers"]
        steps: tuple[Command, ...] = (tuple(configured), generated, made)
        for step in steps:
            inside: Command = ["env", "-C", self.source, *step]
            keeper.run(inside, Streams("postgres-build"), seconds=BUILDING_SECONDS)

    def place(self, server: Path) -> None:
        """Link this server next to the programs that start it."""
        place_link(self.built / "bin" / "postgres", server)

    def units(self, keeper: Keeper) -> list[str]:
        """Return the names of the folders."""
        return list(UNITS)

    def command(self, unit: str) -> Command:
        """Run a folder's tests as another user than root, which PostgreSQL refuses."""
        folder = self.source / UNITS[unit]
        output = self.built / unit
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir()
        concurrent = unit == "isolation"
        runner = "isolation/pg_isolation_regress" if concurrent else "regress/pg_regress"
        program = self.package / "lib/pgxs/src/test" / runner
        options = {
            "temp-instance": output / "instance",
            "bindir": self.built / "bin",
            "dlpath": self.built,
            "inputdir": folder,
            "outputdir": output,
            "encoding": "UTF8",
        }
        given = [f"--{name}={value}" for name, value in options.items()]
        return [*unprivileged(), program, *given, "--no-locale", *tests(folder)]

    def read(self, printed: str) -> Outcome:
        """Parse one result per test."""
        found = [(name, result == "ok") for name, result in RESULT.findall(printed)]
        found += [(name, result == "ok") for result, name in TAP_RESULT.findall(printed)]
        failed = {name for name, is_right in found if not is_right}
        if not END.search(printed):
            failed.add(UNFINISHED)
        return Outcome(sum(is_right for _, is_right in found), frozenset(failed))


def newest(folder: Path) -> Path:
    """Return the newest PostgreSQL of Debian's packages."""
    found = [path for path in folder.glob("*") if (path / "bin" / "postgres").exists()]
    if not found:
        raise StepError(f"{folder}: no PostgreSQL is installed (apt-get install postgresql)")
    return max(found, key=lambda path: int(path.name))


def tests(folder: Path) -> list[str]:
    """Return the tests of a folder, by its schedule if it has one."""
    schedules = [folder / name for name in ("parallel_schedule", "isolation_schedule")]
    if found := [path for path in schedules if path.exists()]:
        return [f"--schedule={path}" for path in found]
    return sorted(path.stem for path in (folder / "sql").glob("*.sql"))


def unprivileged() -> list[str]:
    """Return the prefix that runs a command in a namespace in which root has another id."""
    if os.geteuid() != 0:
        return []
    return ["unshare", "--user", "--map-user=65534", "--map-group=65534"]
