#!/bin/sh
# `make sample`: records the bundled samples again, traces/samples/*.trace; with a name, only that
# one.
#
# It starts from the tables that `make demo` loads. Every file is relative to a separate folder, so
# that the traces contain no path of this machine. On one connection, a seed makes the requests the
# same each time. On several connections, their order depends on the server. Addresses differ
# between runs.
set -eu
cd "$(dirname "$0")/.."
checkout=$PWD
only=${1:-}

[ -d scratch/demo/data-pristine ] || scripts/demo.sh
folder=
server=
clean_up() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
    [ -z "$folder" ] || rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# NAME CONNECTIONS REQUESTS TRANSACTIONS [--paused]: the transactions send more statements than are
# recorded; the server then ends under the load. With --paused, other transactions precede the
# recording. The trace then has no opening of tables, which would take half of a file that must be
# small.
record() {
    [ -z "$only" ] || [ "$only" = "$1" ] || return 0
    trace=$checkout/traces/samples/$1.trace
    cd "$checkout"
    folder=$(mktemp -d)
    cp -r scratch/demo/data-pristine "$folder/data"
    mkdir "$folder/temporary"
    cd "$folder"
    user=
    [ "$(id -u)" -ne 0 ] || user=--user=root
    PATH=$PATH:/usr/sbin "$checkout/target/release/corehop" record --force --level 19 \
        -o "$trace" --request-at dispatch_command --requests "$3" ${5:-} -- \
        mariadbd --no-defaults $user --datadir=./data --socket=socket --pid-file=pid \
        --skip-networking --skip-log-bin --tmpdir=../temporary --innodb-log-file-size=16M \
        --innodb-buffer-pool-size=64M --innodb-buffer-pool-size-max=64M 2>record.log &
    server=$!
    tpcc=$checkout/target/release/corehop-tpcc
    "$tpcc" wait --socket data/socket --max-seconds 60 || { cat record.log >&2; exit 7; }
    if [ -n "${5:-}" ]; then
        "$tpcc" run --socket data/socket --connections "$2" --transactions "$4" --seed 2 >load.log
        "$checkout/target/release/corehop" control start "$trace"
    fi
    "$tpcc" run --socket data/socket --connections "$2" --transactions "$4" --seed 1 \
        >load.log 2>&1 || true
    status=0
    wait "$server" || status=$?
    server=
    [ "$status" -eq 0 ] || { cat record.log >&2; exit "$status"; }
    "$checkout/target/release/corehop" info "$trace"
    cd "$checkout"
    rm -rf "$folder"
    folder=
}

record mariadb-tpcc 1 250 23
record mariadb-tpcc-4 4 240 80 --paused
