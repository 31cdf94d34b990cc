"""Errors, each with the file, the problem, a remedy and an exit code.

The exit codes are those of the `corehop` command, so that scripts need only one list.
"""

EXIT_INPUT = 3
EXIT_OUTPUT = 4
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


class SymbolizerError(Exception):
    """An error caused by the file or the machine, never by this program."""

    exit_code = EXIT_INPUT

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        """Format the problem with `path` and what the user can do."""
        super().__init__(f"{path}: {problem}; {remedy}")


class InputError(SymbolizerError):
    """The file cannot be read, or its functions cannot be determined."""


class OutputError(SymbolizerError):
    """The result cannot be written."""

    exit_code = EXIT_OUTPUT
