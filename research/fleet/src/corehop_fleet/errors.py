"""What ends a run: the place, the problem and what to do about it, each with its exit code."""

from __future__ import annotations

EXIT_FAILED_TASKS = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_OUTPUT = 4
EXIT_MISSING = 6
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


class FleetError(Exception):
    """Nothing can be done for any task."""

    exit_code = EXIT_INPUT

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        """Say where, what and what to do."""
        super().__init__(f"{place}: {problem}")
        self.remedy = remedy


class InputError(FleetError):
    """The sweep's file, a trace or a machine is missing or not what it should be."""


class OutputError(FleetError):
    """The folder of results cannot be written to."""

    exit_code = EXIT_OUTPUT


class MissingError(FleetError):
    """This machine or a worker lacks something, or there is no scheduler."""

    exit_code = EXIT_MISSING
