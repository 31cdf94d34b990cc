"""Looks up single addresses in ranges.

A file may have thousands of ranges, with a query for every symbol and frame. So the ranges are
joined and sorted once, and each query is a binary search.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Extents:
    """The union of address ranges."""

    def __init__(self, ranges: Iterable[range]) -> None:
        """Sort the ranges and join those that overlap."""
        self.starts: list[int] = []
        self.ends: list[int] = []
        for covered in sorted(filter(None, ranges), key=lambda covered: covered.start):
            if self.ends and covered.start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], covered.stop)
            else:
                self.starts.append(covered.start)
                self.ends.append(covered.stop)

    def __contains__(self, address: int) -> bool:
        """Return whether a range covers the address."""
        place = bisect_right(self.starts, address)
        return place > 0 and address < self.ends[place - 1]
