#!/usr/bin/env python3
"""Where the fall-throughs of a profile for BOLT lie, by the disassembly of their file.

    bolt.py PROGRAM PROFILE

PROFILE is what `corehop export --format bolt` wrote. A fall-through is wrong if it begins or ends
between instructions, or passes an instruction that always jumps. BOLT has no control flow for the
PLT, and none for functions with indirect jumps unless it finds their tables. Needs objdump.
"""

import re
import subprocess
import sys
from collections import Counter

FUNCTION = re.compile(r"[0-9a-f]+ <(.+)>:")
SECTION = re.compile(r"Disassembly of section (\S+):")
INSTRUCTION = re.compile(r"\s+([0-9a-f]+):\s+(.*)")
PREFIXES = r"(?:notrack |bnd )*"
ALWAYS_JUMPS = re.compile(PREFIXES + r"(?:jmp|ret|hlt|ud2)")
INDIRECT_JUMP = re.compile(PREFIXES + r"jmp\s+\*")


def disassembled(program: str) -> tuple[dict[int, int], list[tuple[str, bool]], set[str]]:
    """Return the place of each address, each instruction's function and whether it always jumps.

    Also return the functions with indirect jumps. Those of the PLT are called `.plt`.
    """
    places: dict[int, int] = {}
    instructions: list[tuple[str, bool]] = []
    indirect: set[str] = set()
    section = function = ""
    command = ["objdump", "-d", "--no-show-raw-insn", program]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        if found := SECTION.match(line):
            section = found[1]
        elif found := FUNCTION.match(line):
            function = ".plt" if section.startswith(".plt") else found[1]
        elif found := INSTRUCTION.match(line):
            places[int(found[1], 16)] = len(instructions)
            instructions.append((function, ALWAYS_JUMPS.match(found[2]) is not None))
            if INDIRECT_JUMP.match(found[2]):
                indirect.add(function)
    return places, instructions, indirect


def main() -> None:
    """Print the share of fall-throughs of each kind."""
    match sys.argv[1:]:
        case [program, profile]:
            pass
        case _:
            raise SystemExit(__doc__)
    places, instructions, indirect = disassembled(program)
    shares: Counter[str] = Counter()
    with open(profile, encoding="ascii") as lines:
        for line in lines:
            kind, *fields = line.split()
            if kind not in "Ff":
                continue
            first, last = (places.get(int(address, 16)) for address in fields[:2])
            if first is None or last is None or any(jumps for _, jumps in instructions[first:last]):
                where = "wrong"
            elif (function := instructions[first][0]) == ".plt":
                where = "in the PLT"
            else:
                where = "in functions with indirect jumps" if function in indirect else "elsewhere"
            shares[where] += int(fields[2])
    total = shares.total()
    for where in ("wrong", "in the PLT", "in functions with indirect jumps", "elsewhere"):
        print(f"{shares[where] / total:7.1%}  {where}")
    print(f"{total:7}  in all")


if __name__ == "__main__":
    main()
