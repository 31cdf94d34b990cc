"""The bench's output of figures, and its input for other simulators."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.others import Pycachesim, Result, lines_touched, references
from bench.ours import read
from bench.report import CONNECTIONS, CONNECTIONS_MEMORY, PASSES, RATES, Report, Stream
from demo.layout import StepError

GROWTH = [{"accesses": 10**6 * times, "seconds": 0.25 * times} for times in (1, 4, 16)]


def figures(accesses: int) -> dict[str, Any]:
    rates = {source: float(number) for number, (_, source) in enumerate(RATES.values(), 1)}
    memory = {"bytes_per_access_first": 0.5, "bytes_per_access_prepared": 2.25}
    rest = {"accesses": accesses, "growth": GROWTH, "host": "2 CPUs Some Processor"}
    return rates | memory | dict.fromkeys(PASSES, 3.0) | rest


def report(*names: str, pycachesim: Result) -> Report:
    streams = [Stream(name, figures(1000 * number)) for number, name in enumerate(names, 1)]
    connections = {**dict.fromkeys(CONNECTIONS, 45.0), CONNECTIONS_MEMORY: 6.5}
    return Report(streams, connections, pycachesim, Result(9.5), repeats=3)


def test_every_row_names_its_stream_and_the_last_line_is_for_programs() -> None:
    page = report("sample", "tpcc", pycachesim=Result(2.5)).lines()
    found = json.loads(page[-1])
    assert found["stream"] == "tpcc"
    assert found["accesses"] == 2000
    assert found["sample"]["accesses"] == 1000
    assert found["first_maccess_per_s_1"] == 1
    assert found["first_maccess_per_s_2"] == 2
    assert found["engine_maccess_per_s_1"] == 3
    assert found["timed_maccess_per_s"] == 6
    assert found["oracle_maccess_per_s"] == 7
    assert found["pycachesim_maccess_per_s"] == 2.5
    assert found["cachegrind_mref_per_s"] == 9.5
    assert found["bytes_per_access"] == 2.25
    assert found["growth"] == GROWTH
    assert found["host"] == "2 CPUs Some Processor"
    assert "2 CPUs Some Processor" in page
    assert (found["connections_maccess_per_s"], found[CONNECTIONS_MEMORY]) == (45, 6.5)
    assert page.count(f"timed, 8 connections, 4 cores     tpcc-4  {'45.0':>17}") == 1
    assert page.count(f"timed, 8 connections, 4 cores     tpcc-4  {'6.50':>17}") == 1
    for stream in ("sample", "tpcc"):
        assert f"from the file, 1 host thread      {stream:<8}              1.0" in page
        assert (
            f"16x the requests                  {stream:<8}{'16.0':>17}{'4.00':>17}{'4.0':>17}"
            in page
        )
        assert f"in a pass each                    {stream:<8}             3.00" in page
        assert f"prepared                          {stream:<8}             2.25" in page
    assert "pycachesim, 3 levels, one core    sample                2.5" in page
    assert not any(line.startswith("left out") for line in page)


def test_what_could_not_be_measured_is_null_and_the_line_before_says_why() -> None:
    page = report("sample", pycachesim=Result(None, "pycachesim is not installed")).lines()
    assert json.loads(page[-1])["pycachesim_maccess_per_s"] is None
    assert page[-2] == (
        "left out: pycachesim: pycachesim is not installed; "
        "tpcc: no recording, so the figures are the sample's"
    )
    assert "pycachesim, 3 levels, one core    sample                  -" in page


def test_an_access_that_spans_lines_counts_on_each(tmp_path: Path) -> None:
    text = tmp_path / "lackey"
    text.write_text("I  00001000,4\n L 0000103f,2\n S 00001040,64\n L 000010ff,66\n")
    expected = [0x1000, 0x1000, 0x1040, 0x1040, 0x10C0, 0x1100, 0x1140]
    assert lines_touched(text) == expected
    pycachesim = Pycachesim(text)
    pycachesim.run()
    assert len(pycachesim.rates) == 1


def test_references_are_those_to_instructions_and_data() -> None:
    said = "==7== I   refs:      1,000,010\n==7== D   refs:        500,000  (3 rd + 4 wr)\n"
    said += "==7== LL refs:          10,000  (1 rd + 2 wr)\n"
    assert references(said) == 1_500_010
    with pytest.raises(StepError, match="how many references"):
        references("==7== I   refs:      1,000,010\n")


def test_figures_are_read_from_the_last_object_that_was_printed() -> None:
    assert read('warming up\n{"a": 1}\n{"a": 2}\n\n') == {"a": 2}
    with pytest.raises(StepError, match="no figures"):
        read("")


def test_the_bench_begins_without_packages() -> None:
    scripts = Path(__file__).resolve().parent.parent
    # An isolated Python sees no packages of a virtual environment.
    program = f"import sys; sys.path.insert(0, {str(scripts)!r}); import bench.__main__"
    command = [sys.executable, "-B", "-I", "-S", "-c", program]
    subprocess.run(command, check=True)
