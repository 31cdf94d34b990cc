"""The whole package with the real program: a row equals the output of `corehop partition`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from conftest import Workplace

# `make test` builds it before.
PROGRAM = Path(__file__).resolve().parents[3] / "target" / "debug" / "corehop"
FLEET = Path(sys.executable).with_name("corehop-fleet")


def test_a_row_is_what_partition_says(workplace: Workplace) -> None:
    trace = workplace.folder / "sample.trace"
    subprocess.run([PROGRAM, "sample", "mariadb-tpcc", "--output", trace], check=True)
    workplace.write(
        "sweep.toml",
        'machines = ["xeon-e5-2620-v4"]\ncores = [2]\n[traces]\nmariadb = "sample.trace"\n'
        '[options]\nrequests = 2\ndraws = 1\nstrategy = "random"\nreturns = "never"\n',
    )
    subprocess.run(
        [PROGRAM.with_name("corehop-lab"), "fleet", "sweep.toml", "--workers", "1"],
        cwd=workplace.folder,
        env={**os.environ, "COREHOP_FLEET": str(FLEET)},
        check=True,
    )
    options = ["--requests", "2", "--resamples", "1", "--strategy", "random", "--returns", "never"]
    command = [str(PROGRAM), "partition", "--cores", "2", "--json", *options, str(trace)]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    (row,) = workplace.rows()
    assert row["status"] == "done"
    assert row["verdict"] == said["verdict"]
    assert row["ratio"] == said["draws_together"]["mean"]
    assert row["cycles_ratio_carrier"] == said["cycles_ratio"]["carrier"]
    assert row["l2_misses_split"] == said["held_out"]["split"]["l2"]["misses"]
    assert row["functions"] == [function["symbol"] for function in said["plan"]]
    assert 'trace = "./sample.trace"' in row["plan"]
