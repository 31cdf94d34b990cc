"""What can go wrong, each with the file, the problem, a remedy and an exit code.

The exit codes are those of the `corehop` command, so that scripts need to know one list only.
"""

EXIT_INPUT = 3
EXIT_OUTPUT = 4
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


class SymbolizerError(Exception):
    """A failure that is the file's or the machine's, never ours."""

    exit_code = EXIT_INPUT

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        """Say what is wrong with `path` and what the user can do about it."""
        super().__init__(f"{path}: {problem}; {remedy}")


class InputError(SymbolizerError):
    """The file cannot be read, or is not one whose functions can be told."""


class OutputError(SymbolizerError):
    """The result cannot be written."""

    exit_code = EXIT_OUTPUT
