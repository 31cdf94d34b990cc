#!/bin/sh
# What `make test` runs once all is built: tests of whole programs, beside them all that computes.
#
# The first leave a quarter of two CPUs idle: they wait for servers. What runs beside them follows
# in the output once it has ended.
#
# usage: scripts/tests.sh
# exit code: 0 all passed, else something failed
set -u
cd "$(dirname "$0")/.."
mkdir -p target

computes='core_model exchange partitioner simulator timed traces'

# Runs the test programs of these names. A shell has what runs beside it ignore interrupts.
run() {
    env --default-signal=INT,QUIT \
        cargo test --workspace --locked --no-fail-fast $(printf -- '--test=%s ' "$@")
}

# The names of all but these.
others_than() {
    cargo metadata --no-deps --locked --format-version 1 | .venv/bin/python -c '
import json, sys
targets = [target for p in json.load(sys.stdin)["packages"] for target in p["targets"]]
names = {target["name"] for target in targets if target["kind"] == ["test"]}
print(*sorted(names - set(sys.argv[1:])))' "$@"
}

programs=$(others_than $computes) || exit
printed=target/other-tests.log
(
    run $computes
    failed=$?
    env --default-signal=INT,QUIT make --no-print-directory --keep-going test-others || failed=$?
    exit "$failed"
) >"$printed" 2>&1 &
others=$!
trap 'kill "$others" 2>/dev/null; exit 130' INT TERM HUP
run $programs
failed=$?
wait "$others" || failed=$?
cat "$printed"
exit "$failed"
