#!/bin/sh
# Installs a program with Cargo into target/tools, unless this version is there already.
#
# usage: scripts/cargo-tool.sh NAME VERSION
set -eu
cd "$(dirname "$0")/.."
if [ $# -ne 2 ]; then
    echo "usage: scripts/cargo-tool.sh NAME VERSION" >&2
    exit 2
fi
installed=target/tools/.crates.toml
grep --quiet --fixed-strings "\"$1 $2 " "$installed" 2>/dev/null && exit
cargo install --locked --root target/tools --version "$2" "$1"
