"""The figures as one table for people, and as one JSON object on the last line for programs.

Every row names its stream. A figure that could not be measured is null in the object, and the line
before states the reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from bench.others import Result
from bench.ours import CORES
from demo.layout import MACHINE

RATES = {
    "first_maccess_per_s_1": ("from the file, 1 host thread", "first_1_maccess_per_s"),
    "first_maccess_per_s_2": ("from the file, 2 host threads", "first_2_maccess_per_s"),
    "engine_maccess_per_s_1": ("prepared, 1 host thread", "engine_1_maccess_per_s"),
    "engine_maccess_per_s_2": ("prepared, 2 host threads", "engine_2_maccess_per_s"),
    "sequential_maccess_per_s": ("one loop over the file", "sequential_maccess_per_s"),
    "timed_maccess_per_s": ("timed, 8 connections, 4 cores", "timed_maccess_per_s"),
    "oracle_maccess_per_s": ("the tests' oracle", "oracle_maccess_per_s"),
}
"""By key of the object: the row, and the key of benches/replay.rs."""

PASSES = {
    "three_machines_at_once_s": "in one pass",
    "three_machines_apart_s": "in a pass each",
}
MEMORY = {"bytes_per_access_first": "from the file", "bytes_per_access_prepared": "prepared"}
CONNECTIONS = {
    "connections_maccess_per_s": "timed, 8 connections, 4 cores",
    "connections_interval_maccess_per_s": "the same, core model interval",
}
CONNECTIONS_MEMORY = "bytes_per_access_connections"
GROWTH = ("1x", "4x", "16x")


@dataclass(frozen=True)
class Stream:
    """A recording and the output of benches/replay.rs for it."""

    name: str
    figures: dict[str, Any]

    def keys(self) -> dict[str, Any]:
        """Return the keys of the object that belong to one stream."""
        figures = self.figures
        keys: dict[str, Any] = {key: figures[source] for key, (_, source) in RATES.items()}
        first, prepared = (figures[key] for key in MEMORY)
        same = ("accesses", "host", *PASSES, *MEMORY, "growth")
        keys |= {key: figures[key] for key in same}
        return keys | {"bytes_per_access": max(first, prepared), "stream": self.name}

    def rates(self) -> list[str]:
        """Return a row for each way to replay."""
        return [row(title, self.name, f"{self.figures[key]:.1f}") for title, key in RATES.values()]

    def growth(self) -> list[str]:
        """Return a row for each share of the requests."""
        return [
            row(
                f"{times} the requests",
                self.name,
                f"{part['accesses'] / 1e6:.1f}",
                f"{part['seconds']:.2f}",
                f"{part['accesses'] / part['seconds'] / 1e6:.1f}",
            )
            for times, part in zip(GROWTH, self.figures["growth"], strict=True)
        ]

    def rows(self, titles: dict[str, str]) -> list[str]:
        """Return a row for each of these figures."""
        return [row(title, self.name, f"{self.figures[key]:.2f}") for key, title in titles.items()]


@dataclass(frozen=True)
class Report:
    """All measurements; the last stream is the larger one."""

    streams: list[Stream]
    connections: dict[str, Any]
    """Of the bundled sample of four connections."""
    pycachesim: Result
    cachegrind: Result
    repeats: int

    def lines(self) -> list[str]:
        """Return the table, and the object as its last line."""
        page = [
            f"Replays on machine {MACHINE} by a plan for {CORES} cores: medians of {self.repeats}.",
            "Ways to replay took turns; timings are noisy all the same.",
            self.streams[-1].figures["host"],
            "",
            row("million accesses a second", "stream", ""),
        ]
        page += [line for stream in self.streams for line in stream.rates()]
        page += [
            *self.rates_of_connections(),
            row("pycachesim, 3 levels, one core", "sample", rate(self.pycachesim)),
            row("cachegrind, 2 levels, one core", "gzip", rate(self.cachegrind)),
            "",
            row("growth, from the file", "stream", "M accesses", "seconds", "M a second"),
        ]
        page += [line for stream in self.streams for line in stream.growth()]
        page += ["", row("three machines", "stream", "seconds")]
        page += [line for stream in self.streams for line in stream.rows(PASSES)]
        page += ["", row("memory", "stream", "bytes an access")]
        page += [line for stream in self.streams for line in stream.rows(MEMORY)]
        bytes_per_access = self.connections[CONNECTIONS_MEMORY]
        page.append(row("timed, 8 connections, 4 cores", "tpcc-4", f"{bytes_per_access:.2f}"))
        return [*page, "", *self.reasons(), json.dumps(self.keys())]

    def rates_of_connections(self) -> list[str]:
        """Return a row for each way to replay connections with time."""
        figures = self.connections
        return [row(title, "tpcc-4", f"{figures[key]:.1f}") for key, title in CONNECTIONS.items()]

    def keys(self) -> dict[str, Any]:
        """Return the object: of the larger stream, and of the sample below `sample`."""
        keys = self.streams[-1].keys()
        keys |= {key: self.connections[key] for key in (*CONNECTIONS, CONNECTIONS_MEMORY)}
        keys["pycachesim_maccess_per_s"] = self.pycachesim.rate
        keys["cachegrind_mref_per_s"] = self.cachegrind.rate
        return keys | {"repeats": self.repeats, "sample": self.streams[0].keys()}

    def reasons(self) -> list[str]:
        """Return one line with the omitted figures and the reasons."""
        left_out = [
            f"{name}: {result.reason}"
            for name, result in (("pycachesim", self.pycachesim), ("cachegrind", self.cachegrind))
            if result.rate is None
        ]
        if len(self.streams) == 1:
            left_out.append("tpcc: no recording, so the figures are the sample's")
        return [f"left out: {'; '.join(left_out)}"] if left_out else []


def rate(result: Result) -> str:
    """Return a rate for the table."""
    return "-" if result.rate is None else f"{result.rate:.1f}"


def row(title: str, stream: str, *columns: str) -> str:
    """Return an aligned row."""
    return f"{title:<34}{stream:<8}{''.join(f'{column:>17}' for column in columns)}".rstrip()
