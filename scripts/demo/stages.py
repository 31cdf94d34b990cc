"""The steps of the demo, each skipped if its result already exists."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import msgspec

import corehop_json
from corehop_json.optimize import Optimized
from corehop_json.partition import Partitioned
from corehop_json.replay import Replayed
from corehop_json.statistics import Statistics
from corehop_json.tpcc import Checksums, Load, Table
from demo.layout import (
    DEEP_LISTS,
    DEEP_PAGES,
    MACHINE,
    MARIADBD,
    REDIS,
    Layout,
    RedisLoad,
    Settings,
    StepError,
)
from demo.processes import Command, Keeper, Streams
from demo.server import Program, Running, make_data_directory, running
from demo.steps import Input, Steps

MEMORY_LIMIT_MIB = 2048
LONGEST_STEP_SECONDS = 1800

JUMPS_SINCE = 8
"""Redis of this version jumps to a deep page of a sorted set; every version walks a list."""


class Run(msgspec.Struct, frozen=True):
    """The result of a run: no load without transactions, no statistics of an unpatched server."""

    tables: dict[str, Table]
    load: Load | None = None
    statistics: Statistics | None = None

    def hops(self) -> int:
        """Return the hops of a patched server."""
        return self.statistics.hops if self.statistics else 0


def load_of(version: str) -> RedisLoad:
    """Return the load for what `redis-server --version` prints."""
    major = re.search(r"\bv=(\d+)\.", version)
    return DEEP_LISTS if major and int(major[1]) >= JUMPS_SINCE else DEEP_PAGES


class Stages:
    """All steps of the demo, in their order."""

    def __init__(
        self, layout: Layout, settings: Settings, keeper: Keeper, steps: Steps | None = None
    ) -> None:
        """Work in the layout's folder."""
        self.layout = layout
        self.settings = settings
        self.keeper = keeper
        self.steps = steps or Steps(layout.scratch / "done")

    def load_database(self) -> None:
        """Create a data directory and fill it with TPC-C's tables, once for all runs."""
        pristine = self.layout.pristine

        def work() -> None:
            make_data_directory(self.keeper, pristine)
            with running(self.keeper, self.layout, pristine) as server:
                scale, seed = str(self.settings.scale), str(self.settings.seed)
                self.tpcc(server, "load", "--scale", scale, "--seed", seed, quiet=False)
                self.tpcc(server, "check")

        inputs: list[Input] = [MARIADBD, self.layout.tpcc, self.settings.scale, self.settings.seed]
        title = f"TPC-C's tables at 1/{self.settings.scale}, in MariaDB"
        self.steps.step("load", title, inputs, [pristine], work)

    def run(
        self,
        name: str,
        *,
        server: Path | None,
        backend: str | None,
        transactions: int | None = None,
    ) -> Run:
        """Run the transactions on a server with a fresh copy of the tables."""
        facts = self.layout.run(name)
        count = self.settings.transactions if transactions is None else transactions
        inputs = [*self.basis(), name, count]
        inputs += [server] if server else []
        title = f"{count} transactions, {server.name if server else MARIADBD.name}"
        title += f" with backend {backend}" if backend else ""

        def work() -> None:
            statistics = self.layout.scratch / f"statistics-{name}.json"
            statistics.unlink(missing_ok=True)
            environment = {"COREHOP_STATS": str(statistics), "COREHOP_BACKEND": backend or "off"}
            data = self.fresh_copy(name)
            result = self.drive(data, count, Program(server or MARIADBD, (), environment))
            if backend:
                if not statistics.exists():
                    raise StepError(f"{title}: the runtime wrote no {statistics}")
                result["statistics"] = msgspec.Raw(statistics.read_bytes())
            shutil.rmtree(data)
            facts.write_bytes(msgspec.json.encode(result))

        self.steps.step(f"run-{name}", title, inputs, [facts], work)
        return corehop_json.read(facts, Run)

    def record(self, reference: Run) -> Run:
        """Record the same transactions; the server runs under QEMU."""
        facts = self.layout.recorded
        # The first request is the disconnect of the client that waited for the server.
        requests = reference.load.statements + 1 if reference.load else 1
        inputs = [*self.basis(), self.layout.corehop, requests]
        title = f"recording {requests} requests under QEMU"
        trace = self.layout.short(self.layout.trace)
        # Nobody needs the files of a killed demo.
        command: list[str | Path] = [self.layout.corehop, "record", "--force", "-o", trace]
        command += ["--request-at", "dispatch_command", "--requests", str(requests)]
        command += ["--keep-running", "--memory-limit", str(MEMORY_LIMIT_MIB), "--"]

        def work() -> None:
            data = self.fresh_copy("recorded")
            program = Program(prefix=tuple(command))
            result = self.drive(data, self.settings.transactions, program)
            shutil.rmtree(data)
            facts.write_bytes(msgspec.json.encode(result))

        self.steps.step("record", title, inputs, [facts, self.layout.trace], work)
        return corehop_json.read(facts, Run)

    def partition(self, cores: int) -> Partitioned:
        """Find the best split."""
        plan = self.layout.plan(cores)
        facts = self.layout.partition(cores)
        command: list[str | Path] = [
            self.layout.corehop,
            "partition",
            self.layout.short(self.layout.trace),
        ]
        command += ["--cores", str(cores), "--machine", MACHINE, "-o", plan, "--json"]

        def work() -> None:
            printed = self.corehop(command)
            facts.write_text(printed)

        inputs: list[Input] = [self.layout.corehop, self.layout.trace, MACHINE]
        self.steps.step(
            f"partition-{cores}", f"the best split for {cores} cores", inputs, [plan, facts], work
        )
        return corehop_json.read(facts, Partitioned)

    def predict(self, cores: int) -> Replayed:
        """Count the hops of the plan over the whole recording."""
        facts = self.layout.replay(cores)
        plan = self.layout.plan(cores)
        command: list[str | Path] = [
            self.layout.corehop,
            "replay",
            self.layout.short(self.layout.trace),
        ]
        command += ["--machine", MACHINE, "--plan", plan, "--json"]

        def work() -> None:
            facts.write_text(self.corehop(command))

        inputs = [self.layout.corehop, self.layout.trace, plan]
        title = f"the hops that {plan.name} makes of the recording"
        self.steps.step(f"replay-{cores}", title, inputs, [facts], work)
        return corehop_json.read(facts, Replayed)

    def patch(self, cores: int) -> Path:
        """Write the patched server and verify it."""
        patched = self.layout.patched(cores)
        command: list[str | Path] = [self.layout.corehop, "patch"]

        def work() -> None:
            make = [*command, "--plan", self.layout.plan(cores), MARIADBD, "-o", patched]
            self.corehop([*make, "--force"])
            self.corehop([*command, "--verify", patched, "--original", MARIADBD])

        inputs = [self.layout.corehop, self.layout.plan(cores), MARIADBD]
        self.steps.step(f"patch-{cores}", f"writing {patched.name}", inputs, [patched], work)
        return patched

    def draw(self, cores: int) -> None:
        """Draw the page of a split."""
        plan, page = self.layout.plan(cores), self.layout.page
        trace = self.layout.short(self.layout.trace)
        command: list[str | Path] = [self.layout.corehop, "report", plan, trace]
        command += ["-o", page]
        inputs = [self.layout.corehop, self.layout.trace, plan]
        title = f"the page of the split for {cores} cores"

        def work() -> None:
            self.corehop(command)

        self.steps.step("report", title, inputs, [page], work)

    def redis_load(self) -> RedisLoad:
        """Return the load for this machine's redis."""
        return load_of(self.keeper.run([REDIS, "--version"], Streams("redis.log"), seconds=60))

    def optimize(self, load: RedisLoad) -> Optimized:
        """Record, search, and measure redis with one command."""
        folder, loads = self.layout.optimized, self.layout.load(load)
        socket = self.layout.scratch / "redis.socket"
        command: list[str | Path] = [self.layout.corehop, "optimize", "--output", folder, "--json"]
        command += ["--request-at", "processCommand", "--requests", "60"]
        command += ["--throughput", "([0-9.]+) requests per second"]
        for option, script in (("--prepare", "fill.sh"), ("--load", "drive.sh")):
            command += [option, shlex.join(["sh", str(loads / script), str(socket)])]
        command += ["--", REDIS, "--port", "0", "--unixsocket", socket, "--save", ""]

        def work() -> None:
            # Exit code 1 means no speedup on this machine, which is a valid answer.
            self.keeper.run(
                command,
                Streams("optimize.log", quiet=False),
                seconds=LONGEST_STEP_SECONDS,
                fine=(0, 1),
            )

        inputs: list[Input] = [self.layout.corehop, REDIS, *sorted(loads.iterdir())]
        title = "redis: recorded, searched for this machine and measured"
        outputs = [folder, self.layout.optimized_result]
        self.steps.step("optimize", title, inputs, outputs, work)
        return corehop_json.read(self.layout.optimized_result, Optimized)

    def backends(self, cores: int) -> list[str]:
        """Return the backends that support this number of cores here."""
        enough = len(os.sched_getaffinity(0)) >= cores
        return ["count", "affinity"] if enough else ["count"]

    def drive(self, data: Path, transactions: int, program: Program) -> dict[str, msgspec.Raw]:
        """Run the load, end the server, and read the tables' checksums with an unpatched one."""
        with running(self.keeper, self.layout, data, program) as server:
            load = "null"
            if transactions:
                options = ["--transactions", str(transactions), "--seed", str(self.settings.seed)]
                options += ["--max-seconds", str(LONGEST_STEP_SECONDS), "--json"]
                # Two progress bars would overwrite each other; the recorder shows its own.
                load = self.tpcc(server, "run", *options, quiet=program.is_recorded)
            if program.is_recorded:
                self.shut_down(server)
        with running(self.keeper, self.layout, data) as server:
            self.tpcc(server, "check")
            printed = self.tpcc(server, "checksum", "--json")
        tables = corehop_json.parse(printed, Checksums, "corehop-tpcc checksum").tables
        return {"load": msgspec.Raw(load), "tables": msgspec.Raw(msgspec.json.encode(tables))}

    def shut_down(self, server: Running) -> None:
        """End a server by a client's command, so that the recorder sees a regular end."""
        client = ["mariadb", "--no-defaults", "--user=root", f"--socket={server.socket}"]
        self.keeper.run([*client, "--execute=shutdown"], Streams("server.log"), seconds=60)
        try:
            server.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            raise StepError("the server under QEMU did not shut down within 120 s") from None

    def tpcc(self, server: Running, subcommand: str, *options: str, quiet: bool = True) -> str:
        """Run the load's command against a server."""
        command: Command = (self.layout.tpcc, subcommand, "--socket", server.socket, *options)
        seconds = LONGEST_STEP_SECONDS + 60
        return self.keeper.run(command, Streams("tpcc.log", quiet), seconds=seconds)

    def corehop(self, command: Command) -> str:
        """Run corehop with its progress and messages on the terminal."""
        return self.keeper.run(
            command, Streams("corehop.log", quiet=False), seconds=LONGEST_STEP_SECONDS
        )

    def fresh_copy(self, name: str) -> Path:
        """Copy the unchanged data directory."""
        copy = self.layout.scratch / f"data-{name}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.layout.pristine, copy)
        return copy

    def basis(self) -> list[Input]:
        """Return the inputs that every run depends on."""
        return [
            MARIADBD,
            self.layout.tpcc,
            self.settings.transactions,
            self.settings.scale,
            self.settings.seed,
        ]
