"""No process outlives the demo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from demo import processes
from demo.layout import StepError
from demo.processes import Keeper, Streams

LOG = Streams("log")
# A longer time means a hang.
LONGEST_SECONDS = 300


def is_alive(pid: int) -> bool:
    """Return whether the process runs, which a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + LONGEST_SECONDS
    while is_alive(pid):
        assert time.monotonic() < end, f"process {pid} still runs"
        time.sleep(0.01)  # waits: between looks


def read_when_there(path: Path) -> int:
    end = time.monotonic() + LONGEST_SECONDS
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < end, f"{path} was not written"
        time.sleep(0.01)  # waits: between looks
    return int(path.read_text())


def test_what_runs_is_ended_on_leaving_whatever_the_reason(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Keeper(tmp_path) as keeper:
        process = keeper.start(["sleep", "1000"], LOG)
        raise KeyboardInterrupt
    assert process.returncode == -signal.SIGTERM


def test_what_will_not_end_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.2)
    child = tmp_path / "child"
    script = f"trap '' TERM; sleep 1000 & echo $! >{child}; wait; wait"
    with Keeper(tmp_path) as keeper:
        process = keeper.start(["sh", "-c", script], LOG)
        grandchild = read_when_there(child)
        keeper.stop(process)
    assert process.returncode == -signal.SIGKILL
    wait_until_gone(grandchild)


def test_a_killed_demo_takes_its_processes_along(tmp_path: Path) -> None:
    place = tmp_path / "pid"
    program = (
        "import signal, sys; from pathlib import Path\n"
        "from demo.processes import Keeper, Streams\n"
        "process = Keeper(Path(sys.argv[1])).start(['sleep', '1000'], Streams('log'))\n"
        "Path(sys.argv[2]).write_text(f'{process.pid}\\n'); signal.pause()"
    )
    demo = subprocess.Popen([sys.executable, "-c", program, tmp_path, place], env=os.environ)
    try:
        started = read_when_there(place)
    finally:
        demo.kill()
        demo.wait()
    wait_until_gone(started)


def test_a_command_that_fails_says_where_its_messages_are(tmp_path: Path) -> None:
    with Keeper(tmp_path) as keeper, pytest.raises(StepError, match=f"code 3; see {tmp_path}/log"):
        keeper.run(["sh", "-c", "echo why >&2; exit 3"], LOG, seconds=LONGEST_SECONDS)
    assert (tmp_path / "log").read_text() == "why\n"


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with Keeper(tmp_path) as keeper, pytest.raises(StepError, match="did not end within 0 s"):
        keeper.run(["sleep", "1000"], LOG, seconds=0.1)
    assert keeper.running == []


def test_what_a_command_prints_is_given_back(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_text("said\n")
    with Keeper(tmp_path) as keeper:
        assert keeper.run(["cat"], Streams("log", given=given), seconds=LONGEST_SECONDS) == "said\n"
