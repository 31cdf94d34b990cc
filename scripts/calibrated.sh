#!/bin/sh
# Runs a command in which `--machine host` has this machine's measured latencies and hops.
#
# The machine is measured each time, because virtual CPUs move. A given COREHOP_HOST is used
# instead.
#
# usage: scripts/calibrated.sh COMMAND [ARGUMENT ...]
set -eu
cd "$(dirname "$0")/.."
if [ -z "${COREHOP_HOST+set}" ]; then
    COREHOP_HOST=$PWD/target/host.toml
    target/release/corehop calibrate --force --output "$COREHOP_HOST"
    export COREHOP_HOST
fi
exec "$@"
