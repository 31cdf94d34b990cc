"""One run of a sweep: sends missing tasks to the workers, and saves each result immediately.

First, every unknown trace is hashed where the searches will run. Then the searches are sent, those
of the largest traces first, so that no long search runs alone at the end. Only this process writes
the results, so the workers need no shared folder for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

import distributed
from distributed import Client, Future

from corehop_fleet import work, workers
from corehop_fleet.console import Ticker, say
from corehop_fleet.errors import MissingError
from corehop_fleet.program import Program
from corehop_fleet.store import Store, Task
from corehop_fleet.sweep import Sweep, as_arguments
from corehop_fleet.traces import Trace

# The future result of a task.
Coming = Future[dict[str, Any]]

# A task that this number of workers with another version have refused is given up.
MOST_REFUSALS = 8


@dataclass(frozen=True)
class Where:
    """The command-line options about the workers."""

    scheduler: str | None
    workers: int
    threads: int


@dataclass
class Row:
    """The known state of one combination."""

    trace: Trace
    task: Task
    key: str
    status: str = "missing"
    error: str | None = None
    result: dict[str, Any] | None = None


@dataclass
class Run:
    """A run of a sweep."""

    sweep: Sweep
    program: Program
    store: Store
    traces: list[Trace]
    where: Where
    rows: list[Row] = field(default_factory=list)
    done: int = 0
    failed: int = 0
    total: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def go(self) -> None:
        """Do the missing tasks."""
        hashes = {trace.url: self.known_hash(trace) for trace in self.traces}
        unknown = [trace for trace in self.traces if hashes[trace.url] is None]
        if not unknown and not (missing := self.look(hashes, {})):
            self.tell(missing)
            return
        where = self.where
        with workers.connected(where.scheduler, where.workers, self.program) as client:
            unread = self.hash_traces(client, unknown, hashes)
            missing = self.look(hashes, unread)
            self.tell(missing)
            self.search(client, missing)

    def known_hash(self, trace: Trace) -> str | None:
        """Return the hash that an earlier run remembered."""
        return self.store.hash_of(trace.url, trace.version)

    def hash_traces(
        self, client: Client, traces: list[Trace], hashes: dict[str, str | None]
    ) -> dict[str, str]:
        """Hash the traces on workers; return the errors of those that cannot be read."""
        by_url = {trace.url: trace for trace in traces}
        unread: dict[str, str] = {}

        def take(url: str, said: dict[str, Any]) -> None:
            if "error" in said:
                unread[url] = said["error"]
                return
            hashes[url] = said["sha256"]
            self.sizes[url] = said["size_bytes"]
            self.store.remember(url, by_url[url].version, said["sha256"])

        def line() -> str:
            return f"{len(by_url) - len(futures)} of {len(by_url)} traces read"

        futures = {client.submit(work.fingerprint, url, pure=False): url for url in by_url}
        with Ticker(line):
            collect(client, futures, take)
        return unread

    def look(self, hashes: dict[str, str | None], unread: dict[str, str]) -> list[Row]:
        """Create the rows of the table, and return those with missing work."""
        self.rows = []
        for trace in self.traces:
            sha256 = hashes[trace.url]
            for machine in self.sweep.machines:
                for cores in self.sweep.cores:
                    for objective in self.sweep.objectives:
                        told = sha256 or ""
                        task = Task(trace.server, trace.name, told, machine, cores, objective)
                        key = task.key(self.sweep.options, self.program.version) if told else ""
                        self.rows.append(self.judged(Row(trace, task, key), unread))
        return [row for row in self.rows if row.status == "missing"]

    def tell(self, missing: list[Row]) -> None:
        """Print the missing work."""
        counts = [f"{len(self.rows)} combinations"]
        for status, words in [("done", "done already"), ("impossible", "of too many cores")]:
            number = sum(row.status == status for row in self.rows)
            counts += [f"{number} {words}"] if number else []
        say(f"{', '.join(counts)}, {len(missing)} to do")

    def judged(self, row: Row, unread: dict[str, str]) -> Row:
        """Set the known state of a row before any work."""
        machine = row.task.machine
        if not row.task.is_possible:
            row.status, row.error = "impossible", f"{machine.name} has {machine.cores} cores"
        elif row.trace.url in unread:
            row.status, row.error = "failed", unread[row.trace.url]
        elif row.key:
            row.result = self.store.result(row.key)
            row.status = "done" if row.result is not None else "missing"
        return row

    def search(self, client: Client, missing: list[Row]) -> None:
        """Run the searches."""
        # Rows of equal content are one task.
        rows: dict[str, list[Row]] = {}
        for row in missing:
            rows.setdefault(row.key, []).append(row)
        self.total, refusals = len(rows), dict.fromkeys(rows, 0)
        futures: dict[Coming, str] = {}

        def submit(key: str) -> Coming:
            first = rows[key][0]
            size = self.sizes.get(first.trace.url, 0)
            task = self.as_sent(first)
            return client.submit(work.partition, task, pure=False, priority=size)

        def take(key: str, said: dict[str, Any]) -> Coming | None:
            if said["outcome"] == "refused":
                refusals[key] += 1
                dismiss(client, said, self.program)
                if refusals[key] < MOST_REFUSALS:
                    return submit(key)
                said = {"error": f"{refusals[key]} workers had another corehop"}
            self.take(rows[key], said)
            return None

        def line() -> str:
            present = len(client.scheduler_info(n_workers=-1)["workers"])
            return f"{self.told()}; {present} workers"

        futures.update({submit(key): key for key in rows})
        with Ticker(line):
            collect(client, futures, take)
        if rows:
            say(self.told())

    def as_sent(self, row: Row) -> dict[str, Any]:
        """Return a task in the form for workers."""
        task = row.task
        arguments = ["--cores", str(task.cores), "--objective", task.objective]
        arguments += ["--jobs", str(self.where.threads), *as_arguments(self.sweep.options)]
        return {
            "program": self.program.path,
            "version": self.program.version,
            "url": row.trace.url,
            "sha256": task.trace_sha256,
            "machine": task.machine.named,
            "machine_text": task.machine.text,
            "arguments": arguments,
        }

    def take(self, rows: list[Row], said: dict[str, Any]) -> None:
        """Save the result of a task."""
        if said.get("outcome") == "done":
            self.done += 1
            result = self.store.keep(rows[0].key, {"found": said["found"], "plan": said["plan"]})
            for row in rows:
                row.status, row.result = "done", result
            return
        self.failed += 1
        error = said.get("error", "it was given up")
        for row in rows:
            row.status, row.error = "failed", error
            name = f"{row.task.server} {row.task.trace} on {row.task.machine.name}"
            say(f"failed: {name}, {row.task.cores} cores, {row.task.objective}: {error}")

    def told(self) -> str:
        """Return the progress."""
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done + self.failed} of {self.total} searches ended{failed}"


def collect(
    client: Client, futures: dict[Coming, str], take: Callable[[str, dict[str, Any]], Coming | None]
) -> None:
    """Pass each result to `take`, which may return another future for it; empties `futures`."""
    results = distributed.as_completed(list(futures), raise_errors=False)
    try:
        for future in results:
            key = futures.pop(future)
            more = take(key, said_by(future))
            if more is not None:
                futures[more] = key
                results.add(more)
    except BaseException:
        # Workers end the programs of tasks that nobody waits for.
        client.cancel(list(futures))
        raise


def said_by(future: Coming) -> dict[str, Any]:
    """Return the result of a task, or its failure."""
    try:
        said: dict[str, Any] = future.result()
        return said
    except distributed.KilledWorker as error:
        allowed = error.allowed_failures + 1
        return {"outcome": "failed", "error": f"{allowed} workers died at it, perhaps of memory"}
    except CancelledError as error:
        remedy = "what was done is kept: start it, and run this again"
        raise MissingError("the scheduler", "it is gone", remedy) from error
    except Exception as error:
        return {"outcome": "failed", "error": f"{type(error).__name__}: {error}"}


def dismiss(client: Client, said: dict[str, Any], program: Program) -> None:
    """Dismiss a worker with another corehop, so that it gets no more tasks."""
    address = said["worker"]
    if address not in client.scheduler_info(n_workers=-1)["workers"]:
        return
    problem = f"it has {workers.has(said['has'])}, and this is {program.version}"
    say(f"worker {address} is sent away: {problem}")
    client.retire_workers([address])


def succeeded(rows: Iterable[Row]) -> bool:
    """Return whether nothing is missing or has failed."""
    return all(row.status in ("done", "impossible") for row in rows)
