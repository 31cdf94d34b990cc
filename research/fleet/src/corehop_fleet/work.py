"""The code of a worker: fetches a trace, and runs one `corehop partition`.

This file is sent to workers with the tasks, and uses nothing of this package. Nothing here raises
for a bad trace: a task that fails reports the reason, and only tasks of lost workers are repeated.

The program runs in a separate process group, which a Ctrl-C at the terminal does not reach, and
ends with its worker. If nobody waits for a task any more, because the run was interrupted or its
computer is gone, the task ends its program within a second.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any, TypedDict

import distributed
import fsspec
from fsspec.implementations.local import LocalFileSystem

MEBIBYTE = 1 << 20
SECONDS_BETWEEN_LOOKS = 0.5
# Longer messages are cut, because they are in a table.
LONGEST_ERROR = 500

Said = dict[str, Any]


# The keys of `corehop partition --json` that are read. Workers have only Dask and corehop, so these
# types check nothing at run time: tests compare them with configs/schemas/.
class Level(TypedDict):
    """One level of cache."""

    misses: int


class Counters(TypedDict):
    """All levels, summed over all cores."""

    l2: Level


class Comparison(TypedDict):
    """The counts of some requests on one core and with the split."""

    requests: int
    baseline: Counters
    split: Counters


class Draws(TypedDict):
    """The combined results of searches with several seeds."""

    mean: float
    least: float
    most: float


class PlannedFunction(TypedDict):
    """A function of a plan, of any kind."""

    symbol: str


class Found(TypedDict):
    """The result of a search."""

    machine: str
    verdict: str
    against: str | None
    searched: Comparison
    held_out: Comparison | None
    draws_together: Draws | None
    cycles_ratio: dict[str, float]
    hops_per_request: float
    break_even_hop_cycles: float | None
    candidates: int
    splits_evaluated: int
    proven_optimal: bool
    plan: list[PlannedFunction]
    seconds: float
    stopped: bool


class OwnGroup(distributed.WorkerPlugin):
    """Protects this machine's workers from a Ctrl-C at the terminal: the run ends them itself."""

    def setup(self, worker: distributed.Worker) -> None:
        """Lead a process group."""
        os.setpgid(0, 0)


def described(named: str) -> Said:
    """Return this worker's versions of Python and corehop."""
    path = program(named)
    version = None
    if path is not None:
        ended = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        version = ended.stdout.strip()
    return {"python": platform.python_version(), "program": path, "version": version}


def program(named: str) -> str | None:
    """Return the worker's own program, or the requester's path, or any in PATH."""
    candidates = [os.environ.get("COREHOP_PROGRAM"), named, "corehop"]
    found = (shutil.which(candidate) for candidate in candidates if candidate)
    return next((path for path in found if path is not None), None)


def fingerprint(url: str) -> Said:
    """Return the hash of a trace's content, and its length."""
    try:
        path = local_copy(url, wanted=None)
        return {"sha256": hash_of(path), "size_bytes": path.stat().st_size}
    except Exception as error:
        return {"error": f"{url} cannot be read: {in_words(error)}"}


def local_copy(url: str, wanted: str | None) -> Path:
    """Return the trace as a local file: itself, or a copy named by the hash of its content."""
    system, path = fsspec.core.url_to_fs(url)
    if isinstance(system, LocalFileSystem):
        return Path(path)
    folder = cache_folder()
    if wanted is not None:
        copy = folder / f"{wanted}.trace"
        if copy.is_file() and hash_of(copy) == wanted:
            return copy
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, name = tempfile.mkstemp(dir=folder, suffix=".part")
    beside = Path(name)
    try:
        with os.fdopen(number, "wb") as part, system.open(path, "rb") as remote:
            shutil.copyfileobj(remote, part, MEBIBYTE)
        return beside.replace(folder / f"{hash_of(beside)}.trace")
    finally:
        beside.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Return the folder of the copies."""
    named = os.environ.get("COREHOP_FLEET_CACHE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "corehop" / "fleet"


def hash_of(path: Path) -> str:
    """Return the SHA-256 hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def partition(task: Said) -> Said:
    """Run one search; `outcome` is done, failed, refused (another version) or abandoned."""
    here = described(task["program"])
    if here["version"] != task["version"]:
        return {"outcome": "refused", "worker": own_address(), "has": here["version"]}
    try:
        trace = local_copy(task["url"], task["sha256"])
        if hash_of(trace) != task["sha256"]:
            return failed("the trace has changed since this run began: run it again")
        with tempfile.TemporaryDirectory(prefix="corehop-", dir=own_folder()) as folder:
            return searched(task, here["program"], trace, Path(folder))
    except Exception as error:
        return failed(f"{task['url']}: {in_words(error)}")


def searched(task: Said, path: str, trace: Path, folder: Path) -> Said:
    """Run the program in a folder in which trace and machine have names that plans can contain."""
    name = Path(task["url"]).name
    (folder / name).symlink_to(trace.absolute())
    machine = task["machine"]
    if task["machine_text"] is not None:
        machine = "./machine.toml"
        (folder / machine).write_text(task["machine_text"], encoding="utf-8")
    plan = folder / "plan.toml"
    command = [path, "--quiet", "partition", f"./{name}", "--machine", machine, "--json"]
    command += ["--output", f"./{plan.name}", "--ignore-verdict", *task["arguments"]]
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        code = ended(command, folder, out, err)
        out.seek(0)
        err.seek(0)
        printed, complaint = out.read(), err.read()
    if code is None:
        return {"outcome": "abandoned"}
    if code != 0:
        said = " ".join(complaint.split()).removeprefix("corehop: ")[:LONGEST_ERROR]
        return failed(said or f"corehop ended with {code}", code)
    found: Found = json.loads(printed)
    if found["stopped"]:
        return failed("the search was stopped from outside")
    return {"outcome": "done", "found": kept(found), "plan": plan.read_text(encoding="utf-8")}


def ended(command: list[str], folder: Path, out: IO[str], err: IO[str]) -> int | None:
    """Return the exit code; None if it was ended because nobody waits for it."""
    # Without setpriv, the program of a killed worker runs to its end, and its result is lost.
    setpriv = shutil.which("setpriv")
    if setpriv is not None:
        command = [setpriv, "--pdeathsig", "KILL", *command]
    with subprocess.Popen(command, cwd=folder, stdout=out, stderr=err, process_group=0) as process:
        while True:
            try:
                return process.wait(SECONDS_BETWEEN_LOOKS)
            except subprocess.TimeoutExpired:
                if not is_wanted():
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    return None


def is_wanted() -> bool:
    """Return whether anybody still waits for this task; the scheduler notifies the worker."""
    try:
        worker = distributed.get_worker()
    except ValueError:
        return True
    state = worker.state.tasks.get(worker.get_current_task())
    return state is not None and state.state == "executing"


def own_folder() -> str | None:
    """Return the worker's folder, which Dask removes even after the worker was killed."""
    try:
        return str(distributed.get_worker().local_directory)
    except ValueError:
        return None


def own_address() -> str:
    """Return this worker's address at the scheduler."""
    return str(distributed.get_worker().address)


def kept(found: Found) -> Said:
    """Return the part of a search's JSON that a table contains."""
    judged = found["held_out"] or found["searched"]
    draws = found["draws_together"]
    return {
        "machine_name": found["machine"],
        "verdict": found["verdict"],
        "against": found["against"],
        "ratio": draws["mean"] if draws else None,
        "ratio_least": draws["least"] if draws else None,
        "ratio_most": draws["most"] if draws else None,
        "cycles_ratio_carrier": found["cycles_ratio"].get("carrier"),
        "cycles_ratio_affinity": found["cycles_ratio"].get("affinity"),
        "l2_misses_one_core": judged["baseline"]["l2"]["misses"],
        "l2_misses_split": judged["split"]["l2"]["misses"],
        "requests_judged": judged["requests"],
        "hops_per_request": found["hops_per_request"],
        "break_even_hop_cycles": found["break_even_hop_cycles"],
        "candidates": found["candidates"],
        "splits_evaluated": found["splits_evaluated"],
        "proven_optimal": found["proven_optimal"],
        "functions": [function["symbol"] for function in found["plan"]],
        "search_seconds": found["seconds"],
    }


def failed(error: str, code: int | None = None) -> Said:
    """Return the result of a task that cannot be done."""
    return {"outcome": "failed", "error": error, "exit_code": code}


def in_words(error: Exception) -> str:
    """Return an exception's message, with its type."""
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
