#!/bin/bash
# Compiles a crate of the workspace for the suite with clippy's compiler. Tests are not optimized:
# that takes longer than they do. What they test is: Cargo.toml has the level of each crate.
#
# Not for dash, which drops variables such as CARGO_BIN_EXE_corehop-lab.
#
# usage: CLIPPY_DRIVER=FILE compile.sh RUSTC ARGUMENT...
for argument; do
    [ "$argument" != --test ] || exec "$CLIPPY_DRIVER" "$@" -C opt-level=0
done
exec "$CLIPPY_DRIVER" "$@"
