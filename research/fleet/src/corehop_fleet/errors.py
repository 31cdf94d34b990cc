"""Errors that end a run: the place, the problem, and the remedy, each with its exit code."""

from __future__ import annotations

EXIT_FAILED_TASKS = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_OUTPUT = 4
EXIT_MISSING = 6
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


class FleetError(Exception):
    """No task can continue."""

    exit_code = EXIT_INPUT

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        """Set the place, the problem, and the remedy."""
        super().__init__(f"{place}: {problem}")
        self.remedy = remedy


class InputError(FleetError):
    """The sweep's file, a trace, or a machine is missing or invalid."""


class OutputError(FleetError):
    """The folder of results cannot be written to."""

    exit_code = EXIT_OUTPUT


class MissingError(FleetError):
    """This machine or a worker lacks something, or there is no scheduler."""

    exit_code = EXIT_MISSING
