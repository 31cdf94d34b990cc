"""Shared fixtures: the command as users run it, and small compiled programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Symbolize = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def cache_home(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def no_debug_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable debug files, whatever is installed here."""
    monkeypatch.setenv("COREHOP_DEBUG_FILES", "")
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", "/nowhere")


@pytest.fixture
def symbolize(cache_home: Path) -> Symbolize:
    """Run the command with a separate cache."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "corehop_symbolizer", *map(str, arguments)],
            env={**os.environ, "XDG_CACHE_HOME": str(cache_home), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def functions(symbolize: Symbolize) -> Callable[[str | Path], list[dict[str, Any]]]:
    """Return the functions that the command prints for a file."""

    def run(path: str | Path) -> list[dict[str, Any]]:
        result = symbolize(path)
        assert result.returncode == 0, result.stderr
        printed: list[dict[str, Any]] = json.loads(result.stdout)["functions"]
        return printed

    return run


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., Path]:
    """Compile a shared library from C or C++ source."""

    def run(source: str, *options: str, language: str = "c") -> Path:
        library = tmp_path / f"lib{len(list(tmp_path.iterdir()))}.so"
        compiler = {"c": "gcc", "c++": "g++"}[language]
        subprocess.run(
            [compiler, "-x", language, "-shared", "-fPIC", "-O1", *options, "-o", library, "-"],
            input=source,
            text=True,
            check=True,
        )
        return library

    return run
