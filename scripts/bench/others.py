"""Other simulators: how many accesses per second they simulate, if they are installed.

pycachesim receives addresses from a list in one call, which times its C code and not Python: every
access is a load in one L1D, with an L2 and an L3 behind it. cachegrind simulates while it runs a
program, so its figure includes running the program; it has two levels. Both simulate one core and
no coherence, which is less work than ours.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from demo.layout import StepError
from demo.processes import Command, Keeper, Streams

if TYPE_CHECKING:
    from cachesim import Cache

LINE_SIZE_BYTES = 64
LEVELS = (("l3", 16_384, 20), ("l2", 512, 8), ("l1d", 64, 8))
"""Sets and ways of the machine of the bench, xeon-e5-2620-v4, from the outside."""

CACHEGRIND_CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=20971520,20,64")
CACHEGRIND_SECONDS = 600
GZIP_BYTES = 4 << 20
REFERENCES = re.compile(r"\b([ID])\s+refs:\s+([\d,]+)")


@dataclass(frozen=True)
class Result:
    """A rate in millions per second, or why there is none."""

    rate: float | None
    reason: str = ""


@dataclass
class Pycachesim:
    """Times pycachesim on the accesses in a file of Valgrind's lackey."""

    text: Path
    rates: list[float] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)

    def run(self) -> None:
        """Feed all addresses to caches that a first pass has warmed up."""
        if importlib.util.find_spec("cachesim") is None:
            return
        self.addresses = self.addresses or lines_touched(self.text)
        first_level = caches()
        first_level.backend.iterload(self.addresses, length=1)
        begun = time.perf_counter()
        first_level.backend.iterload(self.addresses, length=1)
        seconds = time.perf_counter() - begun
        stats = first_level.stats()
        if stats["HIT_count"] + stats["MISS_count"] != 2 * len(self.addresses):
            raise StepError("pycachesim did not count every access that it was given")
        self.rates.append(len(self.addresses) / seconds / 1e6)

    def result(self) -> Result:
        """Return the median."""
        return median(self.rates, "pycachesim is not installed")


@dataclass
class Cachegrind:
    """Times cachegrind while gzip compresses the beginning of a text."""

    text: Path
    keeper: Keeper
    rates: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Run gzip under cachegrind, once."""
        if shutil.which("valgrind") is None or shutil.which("gzip") is None:
            return
        messages, text = self.text.with_name("cachegrind"), self.text.with_name("gzip")
        with self.text.open("rb") as whole:
            text.write_bytes(whole.read(GZIP_BYTES))
        tool = ("valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHEGRIND_CACHES)
        files = (f"--log-file={messages}", "--cachegrind-out-file=/dev/null")
        command: Command = (*tool, *files, "gzip", "--force", text)
        begun = time.perf_counter()
        self.keeper.run(command, Streams("cachegrind.log"), seconds=CACHEGRIND_SECONDS)
        seconds = time.perf_counter() - begun
        self.rates.append(references(messages.read_text()) / seconds / 1e6)

    def result(self) -> Result:
        """Return the median."""
        return median(self.rates, "valgrind or gzip is not installed")


def caches() -> Cache:
    """Return the innermost of three levels."""
    from cachesim import Cache  # noqa: PLC0415 (may not be installed)

    level = None
    for name, sets, ways in LEVELS:
        level = Cache(name, sets, ways, LINE_SIZE_BYTES, "LRU", load_from=level, store_to=level)
    return level


def lines_touched(text: Path) -> list[int]:
    """Return an address in each line that each access spans, in order."""
    found: list[int] = []
    with text.open() as records:
        for record in records:
            address, size_bytes = record[2:].split(",")
            start = int(address, 16)
            end = start + int(size_bytes)
            found += range(start // LINE_SIZE_BYTES * LINE_SIZE_BYTES, end, LINE_SIZE_BYTES)
    return found


def references(messages: str) -> int:
    """Return the sum of the references to instructions and data that cachegrind reports."""
    counted = {kind: int(count.replace(",", "")) for kind, count in REFERENCES.findall(messages)}
    if set(counted) != {"I", "D"}:
        raise StepError("cachegrind did not say how many references it saw")
    return sum(counted.values())


def median(rates: list[float], reason: str) -> Result:
    """Return the median of the rates, or why there are none."""
    return Result(statistics.median(rates)) if rates else Result(None, reason)
