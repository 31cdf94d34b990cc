"""When a step is repeated, and when it is skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.steps import Input, Steps


class Work:
    """Writes an output and counts how often."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        self.output.write_text(f"made {self.times} times")


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "output")


def test_a_step_is_skipped_while_its_inputs_are_the_same(tmp_path: Path, work: Work) -> None:
    source = tmp_path / "input"
    source.write_text("one")

    def step(*inputs: Input) -> int:
        Steps(tmp_path / "done").step("name", "title", [source, *inputs], [work.output], work)
        return work.times

    assert [step(1), step(1)] == [1, 1]
    assert step(2) == 2
    source.write_text("two")
    assert [step(2), step(2)] == [3, 3]
    work.output.unlink()
    assert step(2) == 4


def test_a_step_cut_short_is_done_again(tmp_path: Path, work: Work) -> None:
    steps = Steps(tmp_path / "done")

    def interrupted() -> None:
        work()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        steps.step("name", "title", [1], [work.output], interrupted)
    assert work.output.exists()
    steps.step("name", "title", [1], [work.output], work)
    assert work.output.read_text() == "made 2 times"


def test_what_an_earlier_run_left_is_gone_when_the_work_starts(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").touch()
    Steps(tmp_path / "done").step("name", "title", [], [folder], folder.mkdir)
    assert list(folder.iterdir()) == []
