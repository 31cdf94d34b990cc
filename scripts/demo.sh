#!/bin/sh
# `make demo`: set-up, build, then the whole pipeline on MariaDB (scripts/demo/__main__.py).
#
# Where packages cannot be installed there is no server to record. Then the bundled sample, which
# was recorded by these same steps, shows the search alone. Set-up is sh because it may have to
# install Python.
#
# Takes the options of scripts/demo; see scripts/demo.sh --help once set up.
# Its exit codes are those that --help lists (scripts/demo/exits.py).
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
export PATH

# Called where `set -e` holds, so that a failed build is no sample.
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
