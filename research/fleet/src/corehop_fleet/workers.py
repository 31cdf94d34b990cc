"""Where the tasks run: in processes of this machine, or on the workers of a scheduler.

Workers with another Python cannot read the tasks, and workers with another corehop would find other
results. Therefore all workers are checked at the start, and a mismatch ends the run. A worker that
joins later reports a mismatch with its first task (`run.py`).
"""

from __future__ import annotations

import contextlib
import logging
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import distributed
from distributed import Client

from corehop_fleet import work
from corehop_fleet.errors import MissingError
from corehop_fleet.program import Program

SECONDS_TO_ANSWER = 20

# This package reports lost workers and similar events itself.
LOGS = "distributed"


@contextlib.contextmanager
def connected(scheduler: str | None, workers: int, program: Program) -> Iterator[Client]:
    """Return a client of the scheduler, or of a temporary local one."""
    logging.getLogger(LOGS).setLevel(logging.CRITICAL)
    # Then workers do not need this package.
    cloudpickle.register_pickle_by_value(work)
    with contextlib.ExitStack() as stack:
        if scheduler is None:
            client = stack.enter_context(local(workers, stack))
        else:
            client = stack.enter_context(remote(scheduler))
        check(client, program)
        yield client


def local(workers: int, stack: contextlib.ExitStack) -> Client:
    """Return a client of workers on this machine, reachable only from this machine."""
    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="corehop-fleet-"))
    stack.enter_context(dask.config.set({"distributed.worker.daemon": False}))
    cluster = stack.enter_context(
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            local_directory=scratch,
            # The memory of a search is not in the worker's own process.
            memory_limit=0,
        )
    )
    client = Client(cluster)
    client.register_plugin(work.OwnGroup())
    return client


def remote(scheduler: str) -> Client:
    """Return a client of a scheduler, by its address or the file that it wrote."""
    place = f"--on {scheduler}"
    is_file = Path(scheduler).is_file()
    where = {"scheduler_file": scheduler} if is_file else {"address": scheduler}
    try:
        return Client(timeout=SECONDS_TO_ANSWER, **where)
    except (OSError, ValueError) as error:
        said = str(error) or type(error).__name__
        remedy = "start `dask scheduler`, and name its address, as tcp://host:8786, or its file"
        raise MissingError(place, f"no scheduler answers there: {said}", remedy) from error


def check(client: Client, program: Program) -> None:
    """Refuse a worker with another Python or another corehop."""
    ours = minor(platform.python_version())
    told: Any = client.get_versions(check=False)
    for address, about in sorted(told["workers"].items()):
        python = dict(about["host"])["python"]
        if minor(python) != ours:
            problem = f"it runs Python {python}, and this is {platform.python_version()}"
            raise MissingError(f"worker {address}", problem, f"start it with Python {ours}")
    for address, about in sorted(client.run(work.described, program.path).items()):
        if about["version"] != program.version:
            remedy = "install that there, in PATH, or name it in COREHOP_PROGRAM and restart it"
            problem = f"it has {has(about['version'])}, and this is {program.version}"
            raise MissingError(f"worker {address}", problem, remedy)


def has(version: str | None) -> str:
    """Describe the version of a worker."""
    return version or "no corehop in PATH"


def minor(version: str) -> str:
    """Return the minor version, such as 3.11 for 3.11.7."""
    return ".".join(str(version).split(".")[:2])
