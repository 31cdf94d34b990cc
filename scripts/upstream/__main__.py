"""The check, from the end of the set-up to the exit code."""

from __future__ import annotations

import os
import signal
import sys

from corehop_json import BadOutputError
from demo.exits import EXIT_FAILED, EXIT_INTERRUPTED, interrupt
from demo.layout import Layout, StepError
from demo.processes import Keeper
from upstream import settings, strays, table
from upstream.checks import Check, refuse_unknown
from upstream.settings import SettingError, Settings

EXIT_FOUND = 1
EXIT_USAGE = 2


def main() -> int:
    """Run the suites and return the exit code; no process remains in any case."""
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, interrupt)
    try:
        wanted = settings.read(os.environ)
        return run(wanted)
    except SettingError as mistake:
        print(f"upstream: {mistake}", file=sys.stderr)
        return EXIT_USAGE
    except (StepError, BadOutputError) as failure:
        print(f"upstream: {failure}", file=sys.stderr)
        return EXIT_FAILED


def run(wanted: Settings) -> int:
    """Run the selected tests, and print the results, even of an interrupted check."""
    layout = Layout.here()
    os.chdir(layout.checkout)
    logs = layout.checkout / "scratch" / "upstream" / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    strays.adopt()
    checks: list[Check] = []
    is_whole = False
    try:
        with Keeper(logs) as keeper:
            for name in wanted.suites:
                checks.append(Check(name, layout.checkout, keeper, wanted))
            refuse_unknown(checks, wanted.units)
            for check in checks:
                check.run()
            is_whole = True
    except KeyboardInterrupt:
        print("upstream: interrupted; found until then:", file=sys.stderr)
    finally:
        strays.end_strays()
    lines, failed = table.page([row for check in checks for row in check.rows.values()], wanted)
    report = "\n".join(lines)
    print(report)
    logs.with_name("report.txt").write_text(report + "\n")
    if not is_whole:
        return EXIT_INTERRUPTED
    return EXIT_FOUND if failed else 0


if __name__ == "__main__":
    sys.exit(main())
