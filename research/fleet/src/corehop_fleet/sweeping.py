"""A sweep from its file to its page: the sequence of steps, and the state after an interrupt."""

from __future__ import annotations

import argparse
import json
import os

from corehop_fleet import page, program, sweep, table, traces
from corehop_fleet.console import say
from corehop_fleet.errors import EXIT_FAILED_TASKS, EXIT_INTERRUPTED
from corehop_fleet.run import Run, Where, succeeded
from corehop_fleet.store import Store


def run(options: argparse.Namespace) -> int:
    """Run the sweep of the command line, and return the exit code."""
    corehop = program.examined(options.corehop)
    read = sweep.read(options.sweep, corehop.machines)
    found = [trace for named in read.traces for trace in traces.found(*named, options.sweep)]
    store = Store(options.output or options.sweep.with_suffix(".results"))
    where = Where(options.on, options.workers or len(os.sched_getaffinity(0)), options.threads)
    work = Run(read, corehop, store, list(dict.fromkeys(found)), where)
    is_interrupted = False
    try:
        work.go()
    except KeyboardInterrupt:
        is_interrupted = True
        say("interrupted; what was done is kept, and the same command does the rest")
    finally:
        if work.rows:
            path = table.write(work.rows, json.dumps(read.options), corehop.version, store)
            place = page.write(table.read(path), options.sweep.name, store)
            say(f"{path} and {place} have {len(work.rows)} combinations")
    if is_interrupted:
        return EXIT_INTERRUPTED
    return 0 if succeeded(work.rows) else EXIT_FAILED_TASKS
