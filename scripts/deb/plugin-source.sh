#!/bin/sh
# Writes the source of QEMU's plugin into a folder, as a Cargo workspace that builds without the
# rest of the checkout. The command carries the plugin, and its license (GPL) asks for the source.
#
# usage: scripts/deb/plugin-source.sh FOLDER, which must not exist
set -eu
[ $# -eq 1 ] || {
    echo "usage: scripts/deb/plugin-source.sh FOLDER" >&2
    exit 2
}
mkdir -p "$(dirname "$1")"
mkdir "$1"
source=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

# The crates of the checkout that the plugin is built of, as `name vVERSION (FOLDER)`.
members=$(cargo tree --offline --locked --package corehop-qemu-plugin --edges normal,build \
    --prefix none | sed -n "s|.*(\(.*\))\( (\*)\)\{0,1\}$|\1|p" | grep "^$(pwd)/" | sort -u |
    sed "s|^$(pwd)/||")
{
    echo '[workspace]'
    # shellcheck disable=SC2086 # a list of folders, here and below
    echo "members = [$(printf '"%s", ' $members | sed 's/, $//')]"
    echo 'resolver = "3"'
    awk '/^\[/ { is_kept = /^\[(workspace\.|profile\.)/ } is_kept' Cargo.toml
} >"$source/Cargo.toml"
# shellcheck disable=SC2086
cp -r --parents $members Cargo.lock LICENSE-APACHE LICENSE-MIT "$source"
# Removes from the lock file what the plugin does not need.
cargo update --workspace --offline --quiet --manifest-path "$source/Cargo.toml"
