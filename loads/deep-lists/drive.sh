#!/bin/sh
# Reads the middle of both lists, $2 (2000) times, from the redis that listens on the Unix socket $1
# (read.lua). A hundred requests are in flight at a time: the client shares the CPUs with the
# server, and sleeps until they are answered.
set -eu
script=$(cat "$(dirname "$0")/read.lua")
redis-benchmark -s "$1" -c 1 -P 100 -n "${2:-2000}" -q eval "$script" 0
