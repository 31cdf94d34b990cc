#!/bin/sh
# Measures this machine with what lies in this folder. It needs no package, network, or root. Prints
# progress on standard error, then tables and, in the last line, one JSON object.
#
# The servers and libraries are those of the machine that packed the folder, and run with this
# machine's own glibc, which must be as new as theirs.
#
# usage: run [--out FILE] [--seconds N] [--cpus LIST]
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
fail() {
    echo "run: $1" >&2
    exit 6
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "this is $(uname -sm): it runs on Linux x86_64 only"
read -r needed <"$folder/glibc"
here=$(getconf GNU_LIBC_VERSION 2>/dev/null || :)
case $here in
    "glibc "*) here=${here#glibc } ;;
    *) fail "this machine has no glibc, which the packed servers need (getconf GNU_LIBC_VERSION)" ;;
esac
newest=$(printf '%s\n%s\n' "$needed" "$here" | sort -t . -k 1,1n -k 2,2n | tail -n 1)
[ "$newest" = "$here" ] ||
    fail "glibc $here is too old: pack on a machine with glibc $here or older; this needs $needed"

COREHOP_PACKED=$folder
LD_LIBRARY_PATH=$folder/lib
export COREHOP_PACKED LD_LIBRARY_PATH
exec "$folder/bin/many-cores" "$@"
