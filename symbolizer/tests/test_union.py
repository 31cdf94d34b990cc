"""The union of names and frame descriptions of one address."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Functions = Callable[[str | Path], list[dict[str, Any]]]
Compiled = Callable[..., Path]

ALIASED = """
int a_rather_long_name(int x) { return x + 1; }
extern __typeof(a_rather_long_name) brief __attribute__((alias("a_rather_long_name")));
static __typeof(a_rather_long_name) me __attribute__((alias("a_rather_long_name"), used));
extern __typeof(a_rather_long_name) weak __attribute__((weak, alias("a_rather_long_name")));
"""


def by_symbol(found: list[dict[str, Any]], symbol: str) -> dict[str, Any]:
    (match,) = [function for function in found if function["symbol"] == symbol]
    return match


def test_a_global_name_wins_then_the_shortest(compiled: Compiled, functions: Functions) -> None:
    function = by_symbol(functions(compiled(ALIASED)), "brief")
    assert function["aliases"] == ["a_rather_long_name", "weak", "me"]
    assert function["source"] == "symtab"


def test_local_names_are_read_from_the_full_table(compiled: Compiled, functions: Functions) -> None:
    library = compiled(
        "__attribute__((noinline)) static int inner(int x) { return x * 3; }"
        "int outer(int x) { return inner(x) + inner(x + 1); }"
    )
    assert by_symbol(functions(library), "inner")["source"] == "symtab"

    subprocess.run(["strip", library], check=True)
    found = functions(library)
    assert by_symbol(found, "outer")["source"] == "dynsym"
    assert "inner" not in {function["symbol"] for function in found}
    assert any(function["source"] == "eh_frame" for function in found)


def test_a_symbol_without_size_takes_that_of_its_frame(
    compiled: Compiled, functions: Functions
) -> None:
    library = compiled(
        '__asm__(".globl bare\\n.type bare,@function\\nbare:\\n.cfi_startproc\\n'
        'nop\\nnop\\nret\\n.cfi_endproc\\n");'
    )
    assert by_symbol(functions(library), "bare")["size"] == 3


def test_a_cold_fragment_is_no_function(compiled: Compiled, functions: Functions) -> None:
    source = """
    extern void fail(int *) __attribute__((cold));
    int split(int x) {
        int kept[4] = {x, x, x, x};
        if (__builtin_expect(x < 0, 0)) { fail(kept); fail(kept + 1); }
        return kept[x & 3] + x;
    }
    """
    library = compiled(source, "-O2", "-freorder-blocks-and-partition")
    names = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    assert " split.cold" in names

    symbols = {function["symbol"] for function in functions(library)}

    assert "split" in symbols
    assert "split.cold" not in symbols


def test_an_indirect_function_is_one(compiled: Compiled, functions: Functions) -> None:
    library = compiled(
        "static int one(void) { return 1; }"
        "static int (*choose(void))(void) { return one; }"
        'int chosen(void) __attribute__((ifunc("choose")));'
    )
    function = by_symbol(functions(library), "chosen")
    assert function["aliases"] == ["choose"]


def test_what_is_only_used_from_elsewhere_is_left_out(
    compiled: Compiled, functions: Functions
) -> None:
    library = compiled('int puts(const char *); int here(void) { return puts(""); }')
    assert "puts" not in {function["symbol"] for function in functions(library)}


def test_a_library_of_data_has_an_answer(compiled: Compiled, functions: Functions) -> None:
    library = compiled("int only_data = 3;", "-nostdlib")
    assert functions(library) == []
