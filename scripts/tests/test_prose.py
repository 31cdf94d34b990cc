"""vale finds no error in documents, help and messages, and finds one planted error of each rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from prose import texts, vale
from suite.processes import ROOT

pytestmark = pytest.mark.skipif(
    not vale.PROGRAM.is_file(), reason=f"no {vale.PROGRAM}; remedy: scripts/vale.sh"
)

PLANTED = {
    "Archaic": "The core is idle whereas the other works.",
    "Article": "The core has a empty queue.",
    "Filler": "The core is of course idle.",
    "Future": "It will wait for the lock.",
    "Inversion": "Nor does the core wait.",
    "Person": "Then we wait for the lock.",
    "Repeated": "The core waits for the the lock.",
    "Sentence": "The core waits" + " for a lock and" * 20 + " ends.",
    "Spelling": "The core has a neighbour.",
    "Told": "The core was told to wait.",
    "Unit": "The core waits for 10ns.",
    "Vocabulary": "The ratio was foretold.",
    "Wordy": "The core is able to wait.",
}
CLEAN = "The core waits for 10 ns."


def test_each_rule_has_a_planted_error() -> None:
    assert {path.stem for path in vale.RULES.glob("*.yml")} == set(PLANTED)


def kinds(sentence: str) -> dict[str, tuple[str, int]]:
    """Return a document, a help text and messages with the sentence, and the line it is on."""
    help_text = texts.paragraphs(f"{CLEAN}\n\nOptions:\n  -n, --number\n          {sentence}\n")
    source = f'// told\nf("{CLEAN}");\nf("{sentence}");\n'
    return {
        "page.md": (f"# Title\n\n{CLEAN}\n\n- {sentence}\n", 5),
        "help.md": (help_text, help_text.split("\n").index(sentence) + 1),
        "messages/source.rs.md": (texts.as_text(source), 6),
    }


def test_a_planted_error_is_found_where_it_is(tmp_path: Path) -> None:
    expected, files = [], []
    for rule, sentence in {**PLANTED, "clean": CLEAN}.items():
        for name, (text, line) in kinds(sentence).items():
            path = tmp_path / rule / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            files.append(path)
            # Messages include SQL, so their length is free.
            if rule != "clean" and not (rule == "Sentence" and "messages" in name):
                expected.append((str(path), str(line), f"corehop.{rule}"))
    found = [line.split(":") for line in vale.findings(files)]
    assert sorted((file, line, rule) for file, line, _, rule, *_ in found) == sorted(expected)


def test_documents_help_and_messages_have_no_error(tmp_path: Path) -> None:
    found = [texts.of_source(line) for line in vale.findings(texts.write(tmp_path))]
    assert not found, "\n".join(found)


def test_a_finding_names_the_line_of_the_source(tmp_path: Path) -> None:
    message = tmp_path / texts.MESSAGES / "src+terminal+line.rs.md"
    for path, place in [
        (ROOT / "docs/README.md", "docs/README.md:8:"),
        (message, "src/terminal/line.rs:4:"),
        (tmp_path / "corehop-run.md", "corehop-run --help:"),
    ]:
        assert texts.of_source(f"{path}:8:1:corehop.Told:why") == f"{place}corehop.Told:why"
