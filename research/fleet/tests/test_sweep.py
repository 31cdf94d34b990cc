"""The valid content of a sweep's file, and the messages for invalid content."""

from __future__ import annotations

import pytest
from conftest import SWEEP, Workplace

from corehop_fleet import sweep
from corehop_fleet.errors import EXIT_INPUT, InputError

BUNDLED = {"large": 'name = "large"\ncores = 8\n', "small": 'name = "small"\ncores = 2\n'}


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("machine = []\n" + SWEEP, "machine: there is no such key", "write machines"),
        (SWEEP + "[options]\nsead = 1\n", "options.sead: there is no such key", "write seed"),
        (SWEEP + "[options]\nseed = 'x'\n", "options.seed: 'x' does not fit", "a whole number"),
        (SWEEP + "[options]\nrequests = true\n", "True does not fit", "a whole number"),
        (SWEEP + "[options]\nbackend = 'x'\n", "'x' does not fit", "one of carrier, affinity"),
        (SWEEP.replace("[2, 4]", "[1]"), "cores: is no list of numbers", "cores = [2, 4]"),
        (SWEEP.replace('"one.trace"', "3"), "traces.one: is no list", "a path, or several"),
        (SWEEP.replace("bundled", "host"), "machines: host is another", "describe it in a file"),
        (SWEEP.replace("bundled", "none"), "machines: there is no machine none", "large, small"),
        (SWEEP.replace("bundled", "one.trace"), "one.trace: is no TOML", "correct it"),
        ("objectives = ['l4']\n" + SWEEP, "objectives: there is no objective l4", "known are l2"),
        ("cores = [2", "sweep.toml: is no TOML", "correct it there"),
    ],
)
def test_what_is_wrong_in_a_sweep_is_named_with_its_place_and_a_remedy(
    workplace: Workplace, text: str, place: str, remedy: str
) -> None:
    path = workplace.write("sweep.toml", text)
    with pytest.raises(InputError) as raised:
        sweep.read(path, BUNDLED)
    assert place in str(raised.value)
    assert remedy in raised.value.remedy


def test_a_missing_trace_ends_the_run_before_any_work(workplace: Workplace) -> None:
    (workplace.folder / "two.trace").unlink()
    code, said = workplace.run()
    assert code == EXIT_INPUT
    assert "sweep.toml: traces.two: there is no trace two.trace" in said
    assert "remedy: correct the path" in said
    assert not (workplace.folder / "sweep.results").exists()


def test_two_machines_of_one_name_are_refused(workplace: Workplace) -> None:
    workplace.write("mine.toml", 'name = "large"\ncores = 4\n')
    path = workplace.write("sweep.toml", SWEEP.replace("]", ', "mine.toml"]', 1))
    with pytest.raises(InputError, match=r"two machines are called large: large and mine\.toml"):
        sweep.read(path, BUNDLED)


def test_options_become_those_of_partition() -> None:
    options: sweep.Options = {
        "backend": "carrier",
        "min_share": 0.5,
        "repeat_connections": True,
        "seed": 3,
    }
    wanted = ["--backend", "carrier", "--min-share", "0.5", "--repeat-connections", "--seed", "3"]
    assert sweep.as_arguments(options) == wanted
    assert sweep.as_arguments({"repeat_connections": False}) == []
