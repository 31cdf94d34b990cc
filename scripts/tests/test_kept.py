"""A demo that fails late loses no measurement, and shows no traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_up import counters, function, optimized, replayed, run

from corehop_json.optimize import Optimized
from corehop_json.partition import Partitioned
from corehop_json.replay import Replayed
from demo import __main__ as demo
from demo import ending, exits, summary
from demo.kept import Kept
from demo.layout import DEEP_LISTS, Layout, RedisLoad, Settings, StepError
from demo.processes import Keeper
from demo.stages import Run, Stages
from demo.steps import Steps

REDIS = "redis: recorded, searched for this machine and measured"
HOPS = 2005


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.make_folders()
    return layout


class Made(Stages):
    """Stages with made-up results; the stage in `broken` raises."""

    def __init__(self, layout: Layout, broken: str, failure: BaseException) -> None:
        super().__init__(layout, Settings(), Keeper(layout.logs), Steps(layout.scratch / "done"))
        self.broken = broken
        self.failure = failure
        self.found = optimized()

    def make(self, title: str, place: Path, result: object) -> None:
        def work() -> None:
            if title == self.broken:
                raise self.failure
            place.write_bytes(msgspec.json.encode(result))

        self.steps.step(place.stem, title, [], [place], work)

    def load_database(self) -> None:
        self.make("load", self.layout.pristine, None)

    def run(
        self,
        name: str,
        *,
        server: Path | None,
        backend: str | None,
        transactions: int | None = None,
    ) -> Run:
        result = run(0 if transactions == 0 else HOPS)
        self.make(name, self.layout.run(name), result)
        return result

    def record(self, reference: Run) -> Run:
        self.make("record", self.layout.recorded, reference)
        return reference

    def partition(self, cores: int) -> Partitioned:
        judged = {"requests": 10, "baseline": counters(600, 400), "split": counters(200, 300)}
        plan = {"searched": judged, "held_out": judged, "plan": [function(by="argument 3")]}
        self.make(f"partition {cores}", self.layout.partition(cores), plan)
        return msgspec.convert(plan, Partitioned)

    def predict(self, cores: int) -> Replayed:
        self.make(f"replay {cores}", self.layout.replay(cores), replayed(HOPS))
        return replayed(HOPS)

    def patch(self, cores: int) -> Path:
        self.make(f"patch {cores}", self.layout.patched(cores), None)
        return self.layout.patched(cores)

    def draw(self, cores: int) -> None:
        self.make(f"draw {cores}", self.layout.page, None)

    def redis_load(self) -> RedisLoad:
        return DEEP_LISTS

    def optimize(self, load: RedisLoad) -> Optimized:
        assert load == DEEP_LISTS
        self.layout.optimized.mkdir(exist_ok=True)
        self.make(REDIS, self.layout.optimized_result, self.found)
        return self.found

    def backends(self, cores: int) -> list[str]:
        return ["count", "affinity"] if cores == 2 else ["count"]


def demonstrate(
    layout: Layout,
    monkeypatch: pytest.MonkeyPatch,
    broken: str = "",
    failure: BaseException | None = None,
) -> int:
    """Run the demo's sequence with made-up stages, and return its exit code."""
    made = Made(layout, broken, failure or KeyError("core"))

    def stages(_layout: Layout, _settings: Settings, _keeper: Keeper, steps: Steps) -> Stages:
        made.steps = steps
        return made

    monkeypatch.setattr(ending, "Stages", stages)
    monkeypatch.chdir(layout.checkout)
    kept = Kept(layout.scratch)
    return ending.ended(layout, Settings(), lambda do: demo.pipeline(do, kept), kept)


def results(layout: Layout) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((layout.scratch / "report.json").read_text())
    return found


MARIADB = [
    *("unpatched", "recorded", "partition_2", "replay_2", "partition_4", "replay_4"),
    *("idle_2", "count_2", "affinity_2", "idle_4", "count_4", "unequal_tables"),
]


def test_a_demo_that_succeeds_has_every_result_and_prints_what_it_writes(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demonstrate(layout, monkeypatch) == exits.EXIT_DONE
    assert list(results(layout)) == [*MARIADB, "redis"]
    page = (layout.scratch / "report.txt").read_text()
    assert capsys.readouterr().out == page
    assert "  core of argument 3 from foo::bar" in page
    assert "  2 cores, affinity        2005     2005       2.00  agrees" in page
    assert "  4 cores, affinity: left out, this machine has fewer CPUs" in page
    assert "Redis, the middle of two lists, measured on this machine" in page
    assert "times as fast on 2 cores" in page
    left = [path.name for path in layout.scratch.iterdir() if path.suffix == ".new"]
    assert left == []


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (
            StepError("corehop failed with exit code 3"),
            (7, "corehop failed with exit code 3"),
        ),
        (
            OSError(28, "No space left on device"),
            (7, "OSError: [Errno 28] No space left on device, see scratch/demo/logs/fault.log"),
        ),
        (
            KeyError("core"),
            (10, "a fault of the demo itself, KeyError: 'core', see scratch/demo/logs/fault.log"),
        ),
        (
            ValueError("two\nlines"),
            (10, "a fault of the demo itself, ValueError: two lines, see"),
        ),
    ],
)
def test_where_redis_fails_mariadb_is_written_and_shown_and_one_sentence_names_it(
    layout: Layout,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failure: Exception,
    expected: tuple[int, str],
) -> None:
    code, said = expected
    assert demonstrate(layout, monkeypatch, REDIS, failure) == code
    assert list(results(layout)) == MARIADB
    printed = capsys.readouterr()
    assert printed.out == (layout.scratch / "report.txt").read_text()
    assert "TPC-C on MariaDB: 46 transactions" in printed.out
    assert "checksums: 2 tables, equal unpatched, recorded and in 3 patched runs" in printed.out
    *steps, sentence = printed.err.splitlines()
    assert steps[-1] == f"demo: {REDIS}"
    assert sentence.startswith(f'demo: "{REDIS}" failed: {said}')
    assert sentence.endswith(f"; scratch/demo/report.json has {', '.join(MARIADB)}")
    log = layout.logs / "fault.log"
    assert log.exists() is not isinstance(failure, StepError)
    assert not log.exists() or str(failure) in log.read_text()


@pytest.mark.parametrize(
    ("broken", "last", "on_page"),
    [
        ("record", "unpatched", "TPC-C on MariaDB: 46 transactions"),
        ("partition 4", "replay_2", "misses per request       one core     2 cores"),
        ("count-2", "idle_2", "misses per request       one core     4 cores"),
        ("affinity-2", "count_2", "2 cores, count           2005     2005"),
        ("patch 4", "affinity_2", "2 cores, affinity        2005     2005"),
    ],
)
def test_every_stage_leaves_results_and_the_page_so_far(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, broken: str, last: str, on_page: str
) -> None:
    assert demonstrate(layout, monkeypatch, broken) == exits.EXIT_FAULT
    assert list(results(layout)) == MARIADB[: MARIADB.index(last) + 1]
    page = (layout.scratch / "report.txt").read_text()
    assert on_page in page
    assert "left out" not in page


def test_a_failure_of_the_first_stage_does_not_pass_an_earlier_report_off_as_its_own(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failure = StepError("mariadbd did not start")
    assert demonstrate(layout, monkeypatch, "load", failure) == exits.EXIT_FAILED
    said = 'demo: "load" failed: mariadbd did not start; nothing was measured'
    assert capsys.readouterr().err.splitlines()[-1] == said
    (layout.scratch / "report.json").write_text("{}")
    assert demonstrate(layout, monkeypatch, "load", failure) == exits.EXIT_FAILED
    said += ", scratch/demo/report.json is of an earlier run"
    assert capsys.readouterr().err.splitlines()[-1] == said


def test_a_page_that_cannot_be_composed_fails_at_its_step(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def speed(_found: Optimized, _load: str) -> list[str]:
        raise KeyError("core")

    monkeypatch.setattr(summary, "speed", speed)
    assert demonstrate(layout, monkeypatch) == exits.EXIT_FAULT
    assert list(results(layout)) == [*MARIADB, "redis"]
    assert capsys.readouterr().err.splitlines()[-1].startswith(f'demo: "{REDIS}" failed: a fault')


def test_tables_that_differ_fail_at_the_comparison_after_redis(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def differs(made: Made, reference: Run) -> Run:
        return run(0, stock={"rows": 3, "checksum": 19})

    monkeypatch.setattr(Made, "record", differs)
    (layout.scratch / "recorded.json").write_text("null")
    assert demonstrate(layout, monkeypatch) == exits.EXIT_FAILED
    assert "redis" in results(layout)
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert sentence.startswith('demo: "comparing mariadbd\'s runs" failed: the patched server left')


def test_an_interrupt_keeps_what_was_measured_and_gives_130(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demonstrate(layout, monkeypatch, REDIS, KeyboardInterrupt()) == 130
    assert list(results(layout)) == MARIADB
    said = "demo: interrupted; run it again to go on where it stopped"
    assert capsys.readouterr().err.splitlines()[-1] == said


def test_a_log_that_cannot_be_written_is_no_traceback_either(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (layout.logs / "fault.log").mkdir()
    assert demonstrate(layout, monkeypatch, REDIS) == exits.EXIT_FAULT
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert "KeyError: 'core', and scratch/demo/logs/fault.log cannot be written (" in sentence


def test_a_folder_that_cannot_be_made_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scratch").write_text("a file")
    layout = Layout(tmp_path)

    def nothing(_do: Stages) -> None:
        raise AssertionError

    code = ending.ended(layout, Settings(), nothing, Kept(layout.scratch))
    assert code == exits.EXIT_FAILED
    printed = capsys.readouterr().err
    assert printed.startswith('demo: "preparing" failed: NotADirectoryError: ')
    assert printed.count("\n") == 1
    assert "nothing was measured" in printed


def test_the_codes_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        with_arguments(["demo", "--help"], demo.read_command_line)
    assert ended.value.code == 0
    assert "7    a step failed" in capsys.readouterr().out


def with_arguments(arguments: list[str], work: Callable[[], object]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", arguments)
        work()
