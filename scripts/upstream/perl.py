"""Perl's own tests of processes, signals, threads, and waiting, on Debian's interpreter.

They come with the source, print TAP, and search for modules in one folder, ../lib. Because nothing
is built, this folder has links to the modules of Debian's packages.
"""

from __future__ import annotations

from pathlib import Path

from demo.processes import Command, Keeper, Streams
from upstream.placing import place_link
from upstream.tap import read_tap
from upstream.verdict import Outcome

UNITS = (
    *("alarm", "die_exit", "die_keeperr", "die_unwind", "eval", "exec", "exit", "fork", "getpid"),
    *("getppid", "kill0", "local", "lop", "magic", "readline", "select", "sigdispatch"),
    *("sigsystem", "sleep", "sort", "sselect", "sub", "threads", "threads-dirh", "time", "tie"),
)
INPUT_AND_OUTPUT = (
    *("argv", "dup", "eintr", "eintr_print", "errno", "fs", "inplace", "iofile", "msg", "open"),
    *("pipe", "print", "read", "sem", "shm", "socket", "socketpair", "tell"),
)
MODULES = (
    "/usr/share/perl/{version}",
    "/usr/lib/x86_64-linux-gnu/perl/{version}",
    "/usr/lib/x86_64-linux-gnu/perl-base",
)


THREADS = "../dist/threads/t"
"""Tests of the module `threads`, from the folder of the others."""


class Perl:
    """A unit is one of t/*/*.t or of the tests of `threads`."""

    name = "perl"
    program = Path("/usr/bin/perl")
    short: tuple[str, ...] = ("op/fork.t", "op/sigdispatch.t", "io/pipe.t", "op/threads.t")

    def __init__(self, source: Path) -> None:
        """Work in Perl's source package."""
        self.source = source

    def prepare(self, keeper: Keeper) -> None:
        """Link the modules of Debian's packages for the tests."""
        lib = self.source / "lib"
        if (lib / "strict.pm").is_symlink():
            return
        if lib.exists():
            lib.rename(self.source / "lib-of-source")
        lib.mkdir()
        asked: Command = [self.program, "-e", 'printf "%vd", $^V']
        version = keeper.run(asked, Streams("perl-version"), seconds=60).rpartition(".")[0]
        for folder in (Path(name.format(version=version)) for name in MODULES):
            linked: Command = ["cp", "-rs", "--remove-destination", f"{folder}/.", lib]
            keeper.run(linked, Streams("perl-modules"), seconds=60)

    def place(self, server: Path) -> None:
        """Link this interpreter to the path that the tests use."""
        place_link(self.source / "t" / "perl", server)

    def units(self, keeper: Keeper) -> list[str]:
        """Return the selected tests."""
        asked = [f"op/{name}.t" for name in UNITS] + [f"io/{name}.t" for name in INPUT_AND_OUTPUT]
        folder = self.source / "t"
        threads = sorted((folder / THREADS).glob("*.t"))
        found = [unit for unit in asked if (folder / unit).exists()]
        return found + [f"{THREADS}/{path.name}" for path in threads]

    def command(self, unit: str) -> Command:
        """Run one test program from the folder that it expects, as Perl's own build does."""
        if unit.startswith(THREADS):
            own = self.source / "dist" / "threads"
            name = f"t/{Path(unit).name}"
            return ["env", "-C", own, "PERL_CORE=1", "../../t/perl", "-I../../lib", name]
        return ["env", "-C", self.source / "t", "./perl", "-I../lib", unit]

    def read(self, printed: str) -> Outcome:
        """Parse the TAP output."""
        return read_tap(printed)
