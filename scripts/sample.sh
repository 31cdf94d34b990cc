#!/bin/sh
# `make sample`: records the bundled sample anew, traces/samples/mariadb-tpcc.trace.
#
# It starts from the tables that `make demo` loads, and names every file relative to a folder of its
# own, so that the trace holds no path of the machine it was made on. One connection and a seed make
# the requests the same every time; addresses differ from run to run.
set -eu
cd "$(dirname "$0")/.."
checkout=$PWD
requests=250
trace=$checkout/traces/samples/mariadb-tpcc.trace

[ -d scratch/demo/data-pristine ] || scripts/demo.sh
folder=$(mktemp -d)
server=
clean_up() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
cp -r scratch/demo/data-pristine "$folder/data"
mkdir "$folder/temporary"
cd "$folder"

user=
[ "$(id -u)" -ne 0 ] || user=--user=root
PATH=$PATH:/usr/sbin "$checkout/target/release/corehop" record --force --level 19 \
    -o "$trace" --request-at dispatch_command --requests "$requests" -- \
    mariadbd --no-defaults $user --datadir=./data --socket=socket --pid-file=pid \
    --skip-networking --skip-log-bin --tmpdir=../temporary --innodb-log-file-size=16M \
    --innodb-buffer-pool-size=64M --innodb-buffer-pool-size-max=64M 2>record.log &
server=$!
tpcc=$checkout/target/release/corehop-tpcc
"$tpcc" wait --socket data/socket --max-seconds 60 || { cat record.log >&2; exit 7; }
# These transactions send more statements than are recorded; the server then ends under the load.
"$tpcc" run --socket data/socket --transactions 23 --seed 1 >load.log 2>&1 || true
status=0
wait "$server" || status=$?
server=
[ "$status" -eq 0 ] || { cat record.log >&2; exit "$status"; }
"$checkout/target/release/corehop" info "$trace"
