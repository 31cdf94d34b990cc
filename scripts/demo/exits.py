"""Exit codes of the demo and of the programs that build on it.

Separate from `ending`: without installed packages, the bench continues without the parts that need
them.
"""

from __future__ import annotations

from types import FrameType

CODES = """\
exit codes:
  0    done, also where no speedup was found for redis, or where packages could not be installed
       and the bundled sample was searched instead
  2    usage
  6    something that set-up does not install is missing, such as Rust
  7    a step failed, or the patched server did not do what it should
  10   a fault of the demo itself
  101  corehop could not be built
  130  interrupted

Results measured before a failure stay in scratch/demo/report.json and report.txt. An unexpected
exception goes to scratch/demo/logs/fault.log.
"""

EXIT_DONE = 0
EXIT_FAILED = 7
EXIT_FAULT = 10
EXIT_INTERRUPTED = 130


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    """End on SIGTERM and SIGHUP as on Ctrl-C."""
    raise KeyboardInterrupt
