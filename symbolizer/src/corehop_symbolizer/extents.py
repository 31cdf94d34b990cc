"""Addresses in ranges, asked for one at a time.

A file may have thousands of ranges and is asked for every symbol and frame, so the ranges are
joined and sorted once, and each question is a search by halves.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class Extents:
    """What any of the ranges covers."""

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
        """Tell whether a range covers the address."""
        place = bisect_right(self.starts, address)
        return place > 0 and address < self.ends[place - 1]
