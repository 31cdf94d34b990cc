#!/bin/sh
# `make demo`: set-up, build, then the whole pipeline on MariaDB (scripts/demo/__main__.py).
#
# If packages cannot be installed, there is no server to record. The demo then only shows the search
# on the bundled sample, which was recorded by these same steps. Set-up is sh because it may have to
# install Python.
#
# Accepts the options of scripts/demo; see scripts/demo.sh --help after the set-up. Its exit codes
# are those that --help lists (scripts/demo/exits.py).
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
export PATH

# Called where `set -e` is active, so that a failed build does not continue with the sample.
sample_instead() {
    echo "demo: without these packages: the split of the bundled sample trace instead" >&2
    cargo build --release --locked
    target/release/corehop partition --cores 4
    cat <<'END'

Left out, because what set-up names above is missing and could not be installed:
  recording, patched runs and their checksums of MariaDB, and all of redis
The trace above was recorded from mariadbd by this demo on another machine.
END
}

status=0
scripts/setup.sh demo || status=$?
case $status in
    0) ;;
    7)
        sample_instead
        exit
        ;;
    *) exit "$status" ;;
esac
cargo build --release --locked
exec env PYTHONPATH=scripts PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m demo "$@"
