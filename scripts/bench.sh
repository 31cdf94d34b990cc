#!/bin/sh
# `make bench-replay`: set-up, build, then timed replays, compared with other simulators
# (scripts/bench).
#
# If packages cannot be installed, it continues with the bundled sample and the available tools, and
# reports which figures are missing.
#
# Accepts the options of scripts/bench; see scripts/bench.sh --help after the set-up.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
export PATH

status=0
scripts/setup.sh test || status=$?
case $status in
    0) ;;
    7)
        echo "bench: without these packages: the bundled sample alone" >&2
        set -- --sample-only "$@"
        ;;
    *) exit "$status" ;;
esac
cargo build --release --locked
python=.venv/bin/python
[ -x "$python" ] || python=python3
exec env PYTHONPATH=scripts PYTHONDONTWRITEBYTECODE=1 "$python" -m bench "$@"
