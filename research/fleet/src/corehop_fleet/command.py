"""`corehop-fleet SWEEP`: the command line, which `corehop-lab fleet` passes on."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from corehop_fleet.console import complain
from corehop_fleet.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_MISSING,
    FleetError,
)

PACKAGES = "`pip install distributed fsspec duckdb jinja2` there (research/fleet.md)"

EXIT_CODES = """\
exit codes:
  0    all is done
  1    some searches failed: the table says which, and why
  2    the command line makes no sense
  3    the sweep's file, a trace or a machine is missing or not what it should be
  4    the results cannot be written
  6    something is missing: a package, the scheduler, this version of corehop on a worker
  70   a mistake of the program's own
  130  interrupted; what was done is kept
"""


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    result = argparse.ArgumentParser(
        prog="corehop-fleet",
        description="Search many traces for many machines, as tasks on Dask, and compare.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("sweep", metavar="SWEEP", type=Path, help="the sweep's file")
    result.add_argument("--on", metavar="SCHEDULER", help="its address or file; default: here")
    result.add_argument(
        "--workers", type=positive, metavar="NUMBER", help="processes, without --on"
    )
    result.add_argument("--threads", type=positive, default=1, metavar="NUMBER", help="a search's")
    result.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="SWEEP.results")
    result.add_argument("--corehop", default="corehop", metavar="PROGRAM", help="the program")
    return result


def positive(text: str) -> int:
    """Parse a number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; no failure shows a traceback."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        # If a package is missing that everything else needs, this reports it in one line.
        return int(importlib.import_module("corehop_fleet.sweeping").run(options))
    except FleetError as error:
        complain(str(error), error.remedy)
        return error.exit_code
    except ModuleNotFoundError as error:
        complain(f"the Python package {error.name} is missing in {sys.executable}", PACKAGES)
        return EXIT_MISSING
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        complain(f"a mistake of ours ({type(error).__name__}: {error})", "please report it")
        return EXIT_INTERNAL


def interrupt(number: int, frame: FrameType | None) -> None:
    """End as on Ctrl-C."""
    raise KeyboardInterrupt
