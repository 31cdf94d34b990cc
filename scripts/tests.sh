#!/bin/sh
# What `make test` runs once all is built: tests of whole programs, and beside them all others.
#
# The first leave a quarter of two CPUs idle: they wait for servers, and a test that is alone in its
# file runs alone. What the others print follows at the end.
#
# usage: scripts/tests.sh
# exit code: 0 all passed, else something failed
set -u
cd "$(dirname "$0")/.."
mkdir -p target
printed=target/other-tests.log
# A shell has what runs beside it ignore interrupts.
env --default-signal=INT,QUIT make --no-print-directory --keep-going test-others >"$printed" 2>&1 &
others=$!
trap 'kill "$others" 2>/dev/null; exit 130' INT TERM HUP
cargo test --workspace --locked --no-fail-fast --test '*'
failed=$?
wait "$others" || failed=$?
cat "$printed"
exit "$failed"
