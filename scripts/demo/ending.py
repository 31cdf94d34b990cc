"""The end of a program of the demo: an exit code and at most one sentence, never a traceback.

Results measured before a failure are kept (`kept`); an unexpected exception is written to a file.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from corehop_json import BadOutputError
from demo.exits import EXIT_DONE, EXIT_FAILED, EXIT_FAULT, EXIT_INTERRUPTED
from demo.kept import Kept
from demo.layout import Layout, Settings, StepError
from demo.processes import Keeper
from demo.stages import Stages
from demo.steps import Steps


def ended(
    layout: Layout, settings: Settings, work: Callable[[Stages], None], kept: Kept | None = None
) -> int:
    """Do the work and return its exit code; no process remains in any case."""
    steps = Steps(layout.scratch / "done")
    try:
        layout.make_folders()
        # Paths in traces and plans are relative to the checkout, which may be moved.
        os.chdir(layout.checkout)
        with Keeper(layout.logs) as keeper:
            work(Stages(layout, settings, keeper, steps))
    except KeyboardInterrupt:
        print("demo: interrupted; run it again to go on where it stopped", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as failure:
        what, code = described(failure, layout)
        left = f"; {kept.described(layout)}" if kept else ""
        say(f'demo: "{steps.at}" failed: {what}{left}')
        discard_output(failure)
        return code
    return EXIT_DONE


def described(failure: Exception, layout: Layout) -> tuple[str, int]:
    """Describe a failure, log an unexpected one, and return the exit code."""
    if isinstance(failure, StepError | BadOutputError):
        return str(failure), EXIT_FAILED
    what = f"{type(failure).__name__}: {failure}, {written_down(failure, layout)}"
    if isinstance(failure, OSError):
        return what, EXIT_FAILED
    return f"a fault of the demo itself, {what}", EXIT_FAULT


def written_down(failure: Exception, layout: Layout) -> str:
    """Write the traceback to a file, and return where it is."""
    log = layout.logs / "fault.log"
    try:
        log.write_text("".join(traceback.format_exception(failure)))
    except OSError as error:
        # A full disk may be the failure.
        return f"and {layout.short(log)} cannot be written ({error.strerror})"
    return f"see {layout.short(log)}"


def say(sentence: str) -> None:
    """Print one line, even if the message has several."""
    print(" ".join(sentence.split()), file=sys.stderr)


def discard_output(failure: Exception) -> None:
    """Prevent a second write to a closed pipe at Python's exit (`make demo | head`)."""
    if isinstance(failure, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
