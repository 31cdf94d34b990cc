"""glibc's own tests of threads and signals, linked into one program, on the installed libc.

They come with Debian's source of that libc. No part of libc is built: the tests call the installed
one, and use those parts of their support library that compile outside of glibc's tree. A test that
needs more, or an additional file, is left out. Each test's main() gets a unique name, and all other
symbols of a test are local, so that one program contains all tests, and one plan hooks them.
"""

from __future__ import annotations

import re
from pathlib import Path

from demo.processes import Command, Keeper, Streams
from upstream.placing import place_link
from upstream.verdict import Outcome

FOLDERS = ("nptl", "sysdeps/pthread", "signal", "rt")

LEFT_OUT = {
    "create-detached": "100 000 threads",
    "mutex10": "a million rounds",
    # The processor time of one thread: docs/reference/carrier.md, *What it does not do*.
    "clock2": "times threads",
    "cpuclock1": "times threads",
    "cpuclock2": "times threads",
    "cputimer1": "times threads",
    "cputimer2": "times threads",
    "cputimer3": "times threads",
    # Workers are also threads in /proc, and signals of other processes arrive through the parked
    # host thread.
    "pthread_cancel-exited": "waits until the process has one kernel thread",
    "mqueue5": "expects a signal of another process before what that process did next",
}

HEADERS = ("array_length.h", "libc-diag.h", "intprops.h", "scratch_buffer.h", "dynarray.h")
"""Of glibc's own, those that its tests include and that stand alone."""

FLAGS = (
    *("-O2", "-g0", "-w", "-std=gnu11", "-fno-pie", "-pthread", "-D_GNU_SOURCE", "-D_ISOMAC"),
    *("-DTIMEOUTFACTOR=4", "-D_STACK_GROWS_DOWN=1", "-DNAME_MAX=255"),
    *("-Dlibc_hidden_proto(x)=", "-Dattribute_hidden="),
    "-DDEFAULT_STACK_PERMS=(PROT_READ|PROT_WRITE)",
    *(f'-D{name}="/nowhere"' for name in ("OBJDIR_PATH", "SRCDIR_PATH", "SLIBDIR_PATH")),
    *(f'-D{name}="/usr"' for name in ("INSTDIR_PATH", "LIBDIR_PATH", "BINDIR_PATH")),
    *(f'-D{name}="/usr"' for name in ("SBINDIR_PATH", "ROOTSBINDIR_PATH", "COMPLOCALEDIR_PATH")),
    '-DSYSCONFDIR_PATH="/etc"',
    '-DOBJDIR_ELF_LDSO_PATH="/lib64/ld-linux-x86-64.so.2"',
)
INSTALLED = Path("/usr/lib/x86_64-linux-gnu")
LIBRARIES = ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2")
COMPILES = (0, 1)
BUILDING_SECONDS = 120


class Glibc:
    """A unit is one test program of glibc."""

    name = "glibc"
    short: tuple[str, ...] = ("cancel15", "cancel29", "cond4", "join1", "robust1", "signal3")

    def __init__(self, source: Path) -> None:
        """Work in glibc's source package."""
        self.source = source
        self.built = source / "built-by-corehop"
        self.program = self.built / "tests"

    def prepare(self, keeper: Keeper) -> None:
        """Build the program, once."""
        if self.program.exists():
            return
        headers = self.built / "include"
        headers.mkdir(parents=True, exist_ok=True)
        place_link(headers / "support", self.source / "support")
        place_link(headers / "malloc", self.source / "malloc")
        place_link(headers / "test-skeleton.c", self.source / "test-skeleton.c")
        for name in HEADERS:
            place_link(headers / name, self.source / "include" / name)
        for name in ("config.h", "stackinfo.h"):
            (headers / name).touch()
        support = self.support(keeper)
        tests = self.tests(keeper, support)
        self.link(keeper, tests, support)

    def compile(self, keeper: Keeper, file: Path, to: Path, *more: str) -> bool:
        """Compile one file; return whether it compiles."""
        quoted = [self.source / name for name in (*FOLDERS, "sysdeps/unix/sysv/linux")]
        folders = [self.built / "include", self.source / "support"]
        command: Command = ["gcc", *FLAGS, *more, *(f"-I{path}" for path in folders)]
        command = [*command, *(f"-iquote{path}" for path in quoted), "-c", file, "-o", to]
        keeper.run(command, Streams("glibc-build"), seconds=BUILDING_SECONDS, fine=COMPILES)
        return to.exists()

    def support(self, keeper: Keeper) -> list[Path]:
        """Build those parts of the support library whose needs are met."""
        folder = self.built / "support"
        folder.mkdir(exist_ok=True)
        files = sorted((self.source / "support").glob("*.c"))
        objects = [(file, folder / f"{file.stem}.o") for file in files]
        built = [to for file, to in objects if self.compile(keeper, file, to)]
        needs = {to: self.symbols(keeper, "-u", [to]) for to in built}
        libraries = self.of_libraries(keeper)
        while True:
            known = libraries | self.symbols(keeper, "-g", built)
            whole = [to for to in built if needs[to] <= known]
            if whole == built:
                return built
            built = whole

    def tests(self, keeper: Keeper, support: list[Path]) -> list[Path]:
        """Build the tests, except those with missing needs."""
        folder = self.built / "tests.o"
        folder.mkdir(exist_ok=True)
        known = self.of_libraries(keeper) | self.symbols(keeper, "-g", support)
        tests = []
        for file in (file for name in FOLDERS for file in (self.source / name).glob("tst-*.c")):
            name = file.stem.removeprefix("tst-")
            to = folder / f"{name}.o"
            renamed = f"-Dmain={entry(name)}"
            if name in LEFT_OUT or to.exists() or not self.compile(keeper, file, to, renamed):
                continue
            wanted = self.symbols(keeper, "-u", [to])
            if wanted <= known and entry(name) in self.symbols(keeper, "-g", [to]):
                own: Command = ["objcopy", f"--keep-global-symbol={entry(name)}", to]
                keeper.run(own, Streams("glibc-build"), seconds=BUILDING_SECONDS)
                tests.append(to)
        return sorted(tests)

    def symbols(self, keeper: Keeper, which: str, files: list[Path]) -> set[str]:
        """Return symbols of files: with `-D` and `-g` their definitions, with `-u` their needs."""
        asked: Command = ["nm", which, *([] if which == "-u" else ["--defined-only"]), *files]
        printed = keeper.run(asked, Streams("glibc-build"), seconds=BUILDING_SECONDS)
        names = [words[-1] for line in printed.splitlines() if len(words := line.split()) > 1]
        # A single @ marks a version that new programs do not link with.
        return {name.split("@")[0] for name in names if which != "-D" or "@@" in name}

    def of_libraries(self, keeper: Keeper) -> set[str]:
        """Return the symbols that the installed libraries and the linker define."""
        libraries = [INSTALLED / name for name in LIBRARIES]
        linked = self.symbols(keeper, "-g", [INSTALLED / "libc_nonshared.a"])
        return self.symbols(keeper, "-D", libraries) | linked | {"_GLOBAL_OFFSET_TABLE_"}

    def link(self, keeper: Keeper, tests: list[Path], support: list[Path]) -> None:
        """Link everything into one program, which runs the test in its argument."""
        names = [test.stem for test in tests]
        lines = ["#include <string.h>"]
        lines += [f"int {entry(name)}(int, char **);" for name in names]
        lines.append("int main(int count, char **words)\n{")
        lines.append("    char *own[] = {words[0], NULL};")
        for name in names:
            lines.append(f'    if (count == 2 && strcmp(words[1], "{name}") == 0)')
            lines.append(f"        return {entry(name)}(1, own);")
        lines.append("    return 2;\n}\n")
        main = self.built / "main.c"
        main.write_text("\n".join(lines))
        archive = self.built / "libsupport.a"
        archive.unlink(missing_ok=True)
        packed: Command = ["ar", "rcs", archive, *support]
        linked: Command = ["gcc", "-O2", "-w", "-no-pie", "-pthread", "-Wl,--build-id", main]
        linked = [*linked, *tests, archive, "-lm", "-o", self.program]
        for command in (packed, linked):
            keeper.run(command, Streams("glibc-build"), seconds=BUILDING_SECONDS)

    def place(self, server: Path) -> None:
        """Link this program to the path at which units are run."""
        place_link(self.built / "program", server)

    def units(self, keeper: Keeper) -> list[str]:
        """Return the names of the program's tests."""
        main = (self.built / "main.c").read_text()
        return re.findall(r'strcmp\(words\[1\], "(.*)"\)', main)

    def command(self, unit: str) -> Command:
        """Run one test."""
        return [self.built / "program", unit]

    def read(self, printed: str) -> Outcome:
        """Return an empty outcome: the exit code is the result."""
        return Outcome(1, frozenset())


def entry(name: str) -> str:
    """Return the name of a test's main()."""
    return f"test_{re.sub('[^a-zA-Z0-9]', '_', name)}"
