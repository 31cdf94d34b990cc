"""The same data from GNU binutils, which share no code with pyelftools."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

FRAME = re.compile(
    r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)"
)
ENTRY = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE ")
ROW = re.compile(r"^[0-9a-f]{16} (\S+)")
SYMBOL = re.compile(r"^\s*\d+: ([0-9a-f]+)\s+(\S+) (FUNC|IFUNC)\s+(\S+)\s+\S+\s+(\d+) (\S+)")
SECTION = re.compile(r"^\s*\[\s*\d+\] (\.plt\S*)\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)")


def readelf(path: str | Path, *options: str) -> list[str]:
    # binutils 2.40 prints libc's frames in full and then exits with 1, so the exit code is ignored.
    command = ["readelf", "-W", *options, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout, result.stderr
    return result.stdout.splitlines()


def dynamic_functions(path: str | Path) -> dict[int, set[str]]:
    """Return the names of the functions defined in .dynsym, without versions, by address."""
    found: dict[int, set[str]] = {}
    for line in readelf(path, "--dyn-syms"):
        if match := SYMBOL.match(line):
            found.setdefault(int(match[1], 16), set()).add(match[6].partition("@")[0])
    return found


def linkage_stubs(path: str | Path) -> list[range]:
    matches = filter(None, map(SECTION.match, readelf(path, "-S")))
    return [range(int(m[2], 16), int(m[2], 16) + int(m[3], 16)) for m in matches]


def frames(path: str | Path) -> dict[int, tuple[int, bool]]:
    """Return the size of every described piece of code, and whether its first CFA is rsp+8.

    The result is by address. readelf prints no rows for a description that adds nothing to its
    common part; the row of that part is then the first.
    """
    found: dict[int, tuple[int, bool]] = {}
    first_cfa_of_common: dict[str, str] = {}
    common: str | None = None
    address: int | None = None
    for line in readelf(path, "--debug-dump=frames-interp"):
        if match := ENTRY.match(line):
            common, address = match[1], None
        elif match := FRAME.match(line):
            common, address = None, int(match[2], 16)
            described_by = match[1].rjust(8, "0")[-8:]
            is_entry = first_cfa_of_common.get(described_by) == "rsp+8"
            found[address] = (int(match[3], 16) - address, is_entry)
        elif match := ROW.match(line):
            if common is not None:
                first_cfa_of_common[common] = match[1]
                common = None
            elif address is not None:
                found[address] = (found[address][0], match[1] == "rsp+8")
                address = None
    return found
