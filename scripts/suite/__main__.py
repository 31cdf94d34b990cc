"""Runs all tests of what was built.

    PYTHONPATH=scripts .venv/bin/python -m suite build
    PYTHONPATH=scripts .venv/bin/python -m suite run
    PYTHONPATH=scripts .venv/bin/python -m suite again --times 10 --beside half

exit code: 0 all passed, 1 a test or a check failed, 2 usage, 3 the tests could not be run, 130
interrupted
"""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from suite.again import BUSY, HALF, IDLE, again
from suite.beside import CHECKS, TESTS
from suite.linted import build
from suite.nextest import Built, SuiteError
from suite.processes import INTERRUPTED, ROOT, Processes
from suite.run import Suite

FAILED, NOT_RUN = 1, 3


def command_line() -> argparse.ArgumentParser:
    """Return the commands and their options."""
    parser = argparse.ArgumentParser(prog="suite")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="the tests and what they run, checked by clippy")
    commands.add_parser("run", help="once, beside ruff, mypy and clippy of the benches")
    repeated = commands.add_parser("again", help="many times, to find tests that fail by chance")
    repeated.add_argument("--times", type=int, default=10)
    repeated.add_argument("--beside", choices=[HALF, BUSY, IDLE], default=HALF)
    return parser


def once(processes: Processes, suite: Suite) -> bool:
    """Run the suite and the checks; the counts are the last line. Say whether all passed."""
    counts, wrong = suite.run(processes, [*CHECKS, *TESTS])
    for step in wrong:
        print(f"\n{step.name} failed ({step.log.relative_to(ROOT)}):")
        print(step.log.read_text(errors="replace").rstrip())
    print()
    for name in counts.failed:
        print(f"failed: {name}")
    for step in wrong:
        if step.count is None:
            print(f"failed: {step.name}, a check, which does not count as a test")
    for skipped in suite.skipped:
        print(skipped)
    for reason in counts.reasons:
        print(f"skipped {reason}")
    for name in suite.ignored:
        print(f"skipped {name}: it is marked to be ignored")
    print(counts)
    return not counts.failed and not wrong


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as by a Ctrl-C."""
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    options = command_line().parse_args(arguments)
    # Also where a shell that started it in the background had it ignore a Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    processes = Processes()
    try:
        if options.command == "build":
            return NOT_RUN if build(processes) else 0
        suite = Suite(Built.found())
        if options.command == "run":
            return 0 if once(processes, suite) else FAILED
        return 0 if again(processes, suite, options.times, options.beside) else FAILED
    except SuiteError as error:
        print(f"suite: {error}", file=sys.stderr)
        processes.end()
        return NOT_RUN
    except KeyboardInterrupt:
        processes.end()
        return INTERRUPTED


sys.exit(main())
