#!/bin/sh
# Builds the tests for `make test`, and sets up what they need to run.
#
# Compilers need Rust and the packages. The rest of the set-up takes two minutes on a fresh machine,
# and half of that waits for the network and the disk: Python's environment, the parts of a machine
# to record, and QEMU 10. So Cargo builds next to it.
#
# usage: scripts/build-tests.sh
# exit code: that of what failed: the set-up (scripts/setup.sh), cargo fmt, or the build
set -eu
cd "$(dirname "$0")/.."
. scripts/setup/python.sh

end_build() {
    kill "$building" 2>/dev/null || true
    wait "$building" || true
}

scripts/setup.sh compile
cargo fmt --all --check
PYTHONPATH=scripts "$(find_python)" -B -m suite build &
building=$!
trap 'end_build; exit 130' INT TERM HUP
scripts/setup.sh test || {
    code=$?
    end_build
    exit "$code"
}
wait "$building"
