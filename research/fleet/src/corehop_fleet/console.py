"""The only module that prints: lines, in which no text of a file can control a terminal."""

from __future__ import annotations

import sys
import threading
import unicodedata
from collections.abc import Callable
from types import TracebackType
from typing import Self

PROGRAM = "corehop-lab fleet"
SECONDS_BETWEEN = 10.0

# Controls, formats (which change the direction of text), surrogates, line separators.
ACTING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def inert(text: str) -> str:
    """Return the text with escapes for characters that would control a terminal or a page."""

    def shown(character: str) -> str:
        if unicodedata.category(character) not in ACTING:
            return character
        return "\\n" if character == "\n" else f"\\u{{{ord(character):x}}}"

    return "".join(map(shown, text))


def say(line: str) -> None:
    """Print a line for people."""
    print(f"{PROGRAM}: {inert(line)}", file=sys.stderr, flush=True)


def complain(problem: str, remedy: str) -> None:
    """Print why the run ends."""
    say(problem)
    print(f"  remedy: {inert(remedy)}", file=sys.stderr, flush=True)


class Ticker:
    """Prints the progress every ten seconds until the context exits, however long a task takes."""

    def __init__(self, line: Callable[[], str], seconds: float = SECONDS_BETWEEN) -> None:
        """Prepare to print the result of `line`."""
        self.line = line
        self.seconds = seconds
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.tick, daemon=True)

    def tick(self) -> None:
        """Print it until the end."""
        while not self.is_over.wait(self.seconds):
            say(self.line())

    def __enter__(self) -> Self:
        """Begin."""
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End."""
        self.is_over.set()
        self.thread.join()
