#!/usr/bin/env python3
"""The command of README.md that optimizes redis, several times, each from the recording on.

    starts.py [STARTS]

It runs at the root of the repository, after `make build`. The table has the requests a second of
the slowest and of the fastest run of each side. Nothing else may run.
"""

import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import running

COMMAND = "target/release/corehop optimize"
OUTPUT = Path("scratch/starts")
# A start without a gain exits with 1.
ANSWERS = (0, 1)


def readme_command() -> list[str]:
    """Return the words of the command in README.md."""
    lines = iter(Path("README.md").read_text(encoding="utf-8").splitlines())
    text = next(line for line in lines if line.strip().startswith(COMMAND))
    while text.endswith("\\"):
        text = text.removesuffix("\\") + next(lines)
    return shlex.split(text)


def start(number: int, command: list[str]) -> dict[str, object]:
    """Run the command once; return its row."""
    output = OUTPUT / str(number)
    shutil.rmtree(output, ignore_errors=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    at = command.index("optimize") + 1
    told = subprocess.run(
        [*command[:at], "--quiet", "--output", str(output), *command[at:]],
        check=False,
        capture_output=True,
        text=True,
        timeout=running.LONGEST_S,
    )
    if told.returncode not in ANSWERS:
        raise SystemExit(f"start {number}: {told.stdout}{told.stderr}")
    result = json.loads((output / "result.json").read_text(encoding="utf-8"))
    best = result["tried"][result["best"]] if result["best"] is not None else {}
    names = [
        one["symbol"] + (" and back" if one["mode"] == "call" else "")
        for one in best.get("functions") or []
    ]
    return {
        "start": number,
        "seconds": round(time.monotonic() - began),
        "gain": result["gain"],
        "ratio": result["ratio"],
        "interval": result["interval"],
        "original": result["original"],
        "patched": result["patched"],
        "functions": names,
    }


def as_text(row: dict) -> str:
    """Return a line of the table."""
    original, patched = (
        f"{min(row[side]):.0f}-{max(row[side]):.0f}" for side in ("original", "patched")
    )
    low, high = row["interval"]
    kept = "" if row["gain"] else "none kept: "
    return (
        f"{row['start']:>5}{row['seconds']:>9}{original:>12}{patched:>12}{len(row['patched']):>7}"
        f"{row['ratio']:>8.3f}{f'{low:.3f}-{high:.3f}':>14}   {kept}{', '.join(row['functions'])}"
    )


def main() -> None:
    """Print the table, and the figures as JSON."""
    starts = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(f"{running.machine()}, {running.l2()} of L2 for each\n")
    print("start  seconds    original     patched   runs   ratio      interval   plan", flush=True)
    rows = []
    for number in range(1, starts + 1):
        rows.append(start(number, readme_command()))
        print(as_text(rows[-1]), flush=True)
    print("\n" + json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
