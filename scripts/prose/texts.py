"""The texts that people read: pages, the help of each command, and messages of the programs.

Messages are the string literals in Rust sources that contain a space, as in tests/tidy.rs. Texts of
C, Python, and shell programs are left out.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from suite.processes import ROOT

# Notes are the raw log of experiments.
PAGES = ["*.md", "docs/**/*.md", "research/*.md"]
MESSAGES = "messages"
PROGRAMS = ["corehop", "corehop-lab", "corehop-tpcc"]
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
CONTINUED = re.compile(r"\\\n\s*")
PLACEHOLDER = re.compile(r"\{[^}]*\}")
# Lines of lists are indented less than descriptions.
LISTED = 8
EXAMPLES = re.compile(r"^Example:.*?(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^  ([a-z][a-z-]*)(?: |$)", re.MULTILINE)


def pages() -> list[Path]:
    """Return the pages."""
    return sorted(path for pattern in PAGES for path in ROOT.glob(pattern))


def help_of(command: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the help of a command and of its subcommands, after their names."""
    done = subprocess.run([*command, "--help"], check=True, stdout=subprocess.PIPE, text=True)
    yield "-".join([Path(command[0]).name, *command[1:]]), done.stdout
    listed = done.stdout.partition("\nCommands:\n")[2].partition("\n\n")[0]
    for name in COMMAND.findall(listed):
        if name != "help":
            yield from help_of([*command, name])


def paragraphs(text: str) -> str:
    """Return a help text without indentation; each indented first line begins a paragraph.

    Lines of examples stay, empty: they are commands.
    """
    result: list[str] = []
    before = 0
    text = EXAMPLES.sub(lambda found: "\n" * found[0].count("\n"), text)
    for line in text.replace("<", " ").split("\n"):
        indentation = len(line) - len(line.lstrip())
        if indentation != before or 0 < indentation < LISTED:
            result.append("")
        result.append(line.strip())
        before = indentation
    return "\n".join(result)


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Yield the messages of a Rust source, after their lines."""
    code = source.split("#[cfg(test)]", maxsplit=1)[0].split("\n")
    code = ["" if line.lstrip().startswith("//") else line for line in code]
    text = "\n".join(code)
    for found in LITERAL.finditer(text):
        plain = CONTINUED.sub("", found[1]).replace("\\n", " ").replace('\\"', "'")
        if " " in plain.strip():
            yield (
                text.count("\n", 0, found.start()) + 1,
                PLACEHOLDER.sub("X", plain).replace("<", " "),
            )


def as_text(source: str) -> str:
    """Return the messages, each a paragraph of one line, at twice the line number in the source."""
    lines: list[str] = []
    for number, message in messages(source):
        lines += [""] * (2 * number - 1 - len(lines))
        # Two on one line shift the next ones.
        lines += [message.replace("\n", " "), ""]
    return "\n".join(lines)


def of_source(finding: str) -> str:
    """Return a finding at its place in the source; one in help keeps the name of its command."""
    path, line, _, rest = finding.split(":", 3)
    name = Path(path)
    if ROOT in name.parents:
        return f"{name.relative_to(ROOT)}:{line}:{rest}"
    if name.parent.name == MESSAGES:
        return f"{name.stem.replace('+', '/')}:{int(line) // 2}:{rest}"
    return f"{name.stem} --help:{rest}"


def sources() -> list[Path]:
    """Return the Rust sources of the programs."""
    found = [path for path in ROOT.glob("**/src/**/*.rs") if "target" not in path.parts]
    return sorted(path for path in found if "tests" not in path.relative_to(ROOT).parts)


def write(folder: Path) -> list[Path]:
    """Write help and messages into the folder, and return all texts."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        for name, text in help_of([str(ROOT / "target/debug" / program)]):
            path = folder / f"{name}.md"
            path.write_text(paragraphs(text))
            written.append(path)
    for source in sources():
        name = str(source.relative_to(ROOT)).replace("/", "+")
        path = folder / MESSAGES / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_text(source.read_text()))
        written.append(path)
    return [*pages(), *written]
