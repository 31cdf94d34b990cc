"""Runs of a sweep: workers that are killed, join late, or are refused, and second runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from conftest import SEARCHES, SWEEP, Workplace

from corehop_fleet.errors import (
    EXIT_FAILED_TASKS,
    EXIT_INTERRUPTED,
    EXIT_MISSING,
)


def test_two_workers_give_the_table_of_one_and_a_second_run_does_nothing(
    workplace: Workplace,
) -> None:
    code, said = workplace.run("--workers", "1", "--output", "by-one")
    assert (code, len(workplace.searches())) == (0, SEARCHES), said
    assert "8 combinations, 2 of too many cores, 6 to do" in said
    code, said = workplace.run("--workers", "2", "--output", "by-two")
    assert (code, len(workplace.searches())) == (0, 2 * SEARCHES), said
    rows = workplace.rows("by-one")
    assert workplace.rows("by-two") == rows
    assert [row["status"] for row in rows] == ["done", "done", "done", "impossible"] * 2
    assert rows[0]["plan"] == 'trace = "./one.trace"\n'
    assert rows[0]["functions"] == ["first", "second"]

    code, said = workplace.run("--workers", "2", "--output", "by-two")
    assert (code, len(workplace.searches())) == (0, 2 * SEARCHES), said
    assert "8 combinations, 6 done already, 2 of too many cores, 0 to do" in said
    assert workplace.rows("by-two") == rows


def test_only_what_depends_on_a_change_is_done_again(workplace: Workplace) -> None:
    assert workplace.run("--workers", "1")[0] == 0
    workplace.write("one.trace", "another one")
    code, said = workplace.run("--workers", "1")
    assert (code, len(workplace.searches())) == (0, SEARCHES + 3), said
    # A file damaged by a kill or a full disk does not count.
    key = workplace.rows()[0]["key"]
    (workplace.folder / f"sweep.results/tasks/{key[:2]}/{key}.json").write_text("{")
    assert workplace.run("--workers", "1")[0] == 0
    assert len(workplace.searches()) == SEARCHES + 4


def test_a_trace_that_is_bad_is_told_in_the_table_and_stops_no_other(workplace: Workplace) -> None:
    workplace.write("one.trace", "bad")
    code, said = workplace.run("--workers", "2")
    assert code == EXIT_FAILED_TASKS, said
    rows = workplace.rows()
    assert [row["status"] for row in rows] == ["failed"] * 3 + ["impossible"] + ["done"] * 3 + [
        "impossible"
    ]
    assert rows[0]["error"] == "not a trace remedy: record again"
    assert "6 of 6 searches ended, 3 failed" in said
    page = (workplace.folder / "sweep.results" / "index.html").read_text(encoding="utf-8")
    assert page.count("not a trace remedy: record again") > 3
    # After the repair, only that task is repeated.
    workplace.write("one.trace", "one")
    assert workplace.run("--workers", "1")[0] == 0
    assert len(workplace.searches()) == SEARCHES + 3


def has_ended(process: str | int) -> bool:
    """Return whether the process no longer exists."""
    return not Path(f"/proc/{process}").exists()


def test_an_interrupted_run_keeps_what_is_done(workplace: Workplace) -> None:
    tasks = workplace.folder / "sweep.results" / "tasks"
    workplace.hold.touch()
    with workplace.start("--workers", "1") as process:
        workplace.wait(lambda: len(workplace.searches()) == 1)
        workplace.hold.unlink()
        workplace.wait(lambda: len(list(tasks.glob("*/*.json"))) >= 1)
        workplace.hold.touch()
        asked = len(workplace.searches())
        process.send_signal(signal.SIGTERM)
        said = process.communicate()[1]
    assert process.returncode == EXIT_INTERRUPTED, said
    assert "interrupted; what was done is kept" in said
    done = len(list(tasks.glob("*/*.json")))
    assert sum(row["status"] == "done" for row in workplace.rows()) == done
    assert done + sum(row["status"] == "missing" for row in workplace.rows()) == SEARCHES
    # The programs of active searches have ended.
    for line in workplace.searches():
        workplace.wait(partial(has_ended, line.split()[0]))
    workplace.hold.unlink()
    asked = len(workplace.searches())
    assert workplace.run("--workers", "1")[0] == 0
    assert len(workplace.searches()) == asked + SEARCHES - done


def test_a_worker_that_is_killed_loses_nothing(workplace: Workplace) -> None:
    assert workplace.run("--workers", "2", "--output", "undisturbed")[0] == 0
    before = len(workplace.searches())
    workplace.hold.touch()
    temporary = workplace.folder / "temporary"
    temporary.mkdir()
    workplace.environment["TMPDIR"] = str(temporary)
    with workplace.start("--workers", "2") as process:
        workplace.wait(lambda: len(workplace.searches()) == before + 2)
        search, worker = map(int, workplace.searches()[-1].split()[:2])
        os.kill(worker, signal.SIGKILL)
        # Its program ends with it.
        workplace.wait(partial(has_ended, search))
        workplace.hold.unlink()
        said = process.communicate()[1]
    assert process.returncode == 0, said
    assert len(workplace.searches()) == before + SEARCHES + 1
    assert workplace.rows() == workplace.rows("undisturbed")
    assert not list(temporary.glob("corehop-*"))


@dataclass
class Scheduler:
    """A scheduler and its workers, without this package."""

    workplace: Workplace
    address: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str, version: str = "corehop 1.2.3") -> subprocess.Popen[bytes]:
        """Start one of Dask's commands."""
        told = {"COREHOP_PROGRAM": str(self.workplace.program), "STAND_IN_VERSION": version}
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "dask", *arguments, "--host", "127.0.0.1"],
            env={**os.environ, **self.workplace.environment, **told},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def join(self, version: str = "corehop 1.2.3") -> subprocess.Popen[bytes]:
        """Start a worker with this version."""
        options = ["--no-nanny", "--no-dashboard", "--nthreads", "1"]
        options += ["--local-directory", str(self.workplace.folder)]
        return self.start("worker", self.address, *options, version=version)


@contextmanager
def scheduler(workplace: Workplace) -> Iterator[Scheduler]:
    """A scheduler on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    found = Scheduler(workplace, f"tcp://127.0.0.1:{port}")
    try:
        found.start("scheduler", "--no-dashboard", "--port", port)
        yield found
    finally:
        for process in reversed(found.processes):
            process.kill()
            process.wait()


def test_workers_of_a_scheduler_come_and_go(workplace: Workplace) -> None:
    workplace.hold.touch()
    with scheduler(workplace) as dask:
        process = workplace.start("--on", dask.address)
        workers = [dask.join(), dask.join()]
        workplace.wait(lambda: len({line.split()[1] for line in workplace.searches()}) == 2)
        workers[0].kill()
        workplace.hold.unlink()
        said = process.communicate()[1]
    assert process.returncode == 0, said
    assert len(workplace.searches()) == SEARCHES + 1
    assert [row["status"] for row in workplace.rows()].count("done") == SEARCHES


def test_a_worker_with_another_corehop_is_refused_with_the_reason(workplace: Workplace) -> None:
    with scheduler(workplace) as dask:
        dask.join("corehop 9.9.9")
        workplace.wait(lambda: answers(dask.address))
        code, said = workplace.run("--on", dask.address)
    assert code == EXIT_MISSING, said
    assert "it has corehop 9.9.9, and this is corehop 1.2.3" in said
    assert "remedy: install that there, in PATH, or name it in COREHOP_PROGRAM" in said
    assert workplace.searches() == []


def test_a_worker_that_comes_later_with_another_corehop_is_sent_away(workplace: Workplace) -> None:
    workplace.hold.touch()
    with scheduler(workplace) as dask:
        dask.join()
        process = workplace.start("--on", dask.address)
        workplace.wait(lambda: len(workplace.searches()) == 1)
        other = dask.join("corehop 9.9.9")
        workplace.wait(lambda: other.poll() is not None)
        workplace.hold.unlink()
        said = process.communicate()[1]
    assert process.returncode == 0, said
    assert "is sent away: it has corehop 9.9.9, and this is corehop 1.2.3" in said
    assert len(workplace.searches()) == SEARCHES
    assert [row["status"] for row in workplace.rows()].count("done") == SEARCHES


def answers(address: str) -> bool:
    """Return whether there is a worker."""
    code = "import distributed, sys; client = distributed.Client(sys.argv[1], timeout=60)\n"
    code += "client.wait_for_workers(1, timeout=60)"
    return subprocess.run([sys.executable, "-c", code, address], check=False).returncode == 0


def test_no_scheduler_is_told_with_a_remedy(workplace: Workplace) -> None:
    code, said = workplace.run("--on", "nonsense://127.0.0.1:1")
    assert code == EXIT_MISSING, said
    assert "--on nonsense://127.0.0.1:1: no scheduler answers there" in said
    assert "remedy: start `dask scheduler`" in said


def test_equal_traces_are_searched_once(workplace: Workplace) -> None:
    workplace.write("two.trace", "one")
    workplace.write("sweep.toml", SWEEP.replace("[2, 4]", "[2]"))
    assert workplace.run("--workers", "1")[0] == 0
    assert len(workplace.searches()) == 2
    assert [row["status"] for row in workplace.rows()] == ["done"] * 4
