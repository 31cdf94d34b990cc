"""A stand-in for the corehop program, which answers immediately and logs its requests.

STAND_IN_LOG gets a line for each search. While the file STAND_IN_HOLD exists, searches wait.
STAND_IN_VERSION is the version that it reports. A trace that begins with `bad` is refused.
"""

from __future__ import annotations

import json
import os
import sys
import time
from hashlib import sha256
from pathlib import Path

MACHINES = {
    "large": 'name = "large"\ncores = 8\n',
    "small": 'name = "small"\ncores = 2\n',
}
EXIT_INPUT = 3


def main(arguments: list[str]) -> int:
    """Answer."""
    if arguments == ["--version"]:
        print(os.environ.get("STAND_IN_VERSION", "corehop 1.2.3"))
        return 0
    if arguments == ["fleet", "--list-machines"]:
        print(json.dumps(MACHINES))
        return 0
    trace, options = arguments[2], arguments[3:]
    del options[options.index("--json")]
    del options[options.index("--ignore-verdict")]
    given = dict(zip(options[0::2], options[1::2], strict=True))
    with Path(os.environ["STAND_IN_LOG"]).open("a", encoding="utf-8") as log:
        log.write(f"{os.getpid()} {os.getppid()} {' '.join(options)}\n")
    while Path(os.environ["STAND_IN_HOLD"]).exists():
        time.sleep(0.02)  # waits: between looks
    content = Path(trace).read_bytes()
    if content.startswith(b"bad"):
        print("corehop: not a trace\n  remedy: record again", file=sys.stderr)
        return EXIT_INPUT
    print(json.dumps(found(content, given)))
    Path(given["--output"]).write_text(f'trace = "{trace}"\n', encoding="utf-8")
    return 0


def found(content: bytes, given: dict[str, str]) -> dict[str, object]:
    """Return a search's JSON, with figures from trace, machine, cores, and objective."""
    machine = given["--machine"]
    if machine.startswith("./"):
        machine = Path(machine).read_text(encoding="utf-8").split('"')[1]
    asked = (machine, given["--cores"], given["--objective"], given.get("--seed", "1"))
    share = sha256(content + repr(asked).encode()).digest()[0] / 200
    misses = {"l2": {"misses": 1000}}
    return {
        "machine": machine,
        "stopped": False,
        "verdict": f"a share of {share}",
        "against": None if share < 1 else "no speedup found",
        "draws_together": {"mean": share, "least": share, "most": share},
        "cycles_ratio": {"carrier": share, "affinity": share + 0.1},
        "searched": {"baseline": misses, "split": misses, "requests": 2},
        "held_out": {"baseline": misses, "split": {"l2": {"misses": 500}}, "requests": 40},
        "hops_per_request": 2.0,
        "break_even_hop_cycles": None,
        "candidates": 7,
        "splits_evaluated": 21,
        "proven_optimal": True,
        "plan": [{"symbol": "first"}, {"symbol": "second"}],
        "seconds": time.perf_counter(),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
