"""Counts what drcachesim's default caches hit and miss in a recording of DynamoRIO.

Two cores with L1I and L1D of 32 KiB and 8 ways, one last level of 8 MiB and 16 ways, LRU. The first
thread runs on core 0, all others on core 1. Each miss of a load or store in an L1D also prefetches
the next line, unless `--no-prefetch` is given; prefetches are not counted. It reads the records as
they are in the file, without corehop (research/notes/trace-counts.md has its figures).

    python3 research/notes/drcachesim.py offline-legacy-trace.gz [--no-prefetch]
"""

import gzip
import struct
import sys

READ, WRITE, THREAD = 0, 1, 22
INSTRUCTIONS = range(10, 17)


class Cache:
    """A cache of lines of 64 bytes, each set in the order of use."""

    def __init__(self, size, ways, outer=None):
        """Make it empty; what it misses, it reads from `outer`."""
        self.sets = [[] for _ in range(size // 64 // ways)]
        self.ways, self.outer = ways, outer
        self.hits = self.misses = 0

    def access(self, line, is_demand=True):
        """Access a line, and say whether it was there."""
        held = self.sets[line % len(self.sets)]
        is_hit = line in held
        if is_hit:
            held.remove(line)
        elif self.outer:
            self.outer.access(line, is_demand)
        if len(held) == self.ways:
            held.pop(0)
        held.append(line)
        if is_demand:
            self.hits += is_hit
            self.misses += not is_hit
        return is_hit


def main(path, prefetches):
    """Replay the recording and print the counts."""
    last = Cache(8 << 20, 16)
    cores = [(Cache(32 << 10, 8, last), Cache(32 << 10, 8, last)) for _ in range(2)]
    threads, core = [], 0
    with gzip.open(path) as file:
        records = file.read()
    for kind, size, value in struct.iter_unpack("<HHQ", records):
        lines = range(value >> 6, (value + size - 1 >> 6) + 1)
        if kind == THREAD:
            if value not in threads:
                threads.append(value)
            core = min(threads.index(value), 1)
        elif kind in INSTRUCTIONS:
            for line in lines:
                cores[core][0].access(line)
        elif kind in (READ, WRITE):
            for line in lines:
                if not cores[core][1].access(line) and prefetches:
                    cores[core][1].access(line + 1, is_demand=False)
    for number, (fetches, data) in enumerate(cores):
        print(f"core {number}  L1I hits {fetches.hits} misses {fetches.misses}", end="  ")
        print(f"L1D hits {data.hits} misses {data.misses}")
    print(f"last level  hits {last.hits} misses {last.misses}")


main(sys.argv[1], "--no-prefetch" not in sys.argv)
