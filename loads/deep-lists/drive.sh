#!/bin/sh
# Reads from the middle of both lists, $2 (2000) times, from the redis or valkey that listens on the
# Unix socket $1. A request is a script of two reads, each of one document. The server walks a list
# of nodes up to there, so half of one list passes through the cache, then half of the other. A
# hundred requests are in flight at a time: the client shares the CPUs with the server, and sleeps
# until they are answered.
set -eu
redis-benchmark -s "$1" -c 1 -P 100 -n "${2:-2000}" -q eval "
local middle = redis.call('llen', 'inbox') / 2 - 1
local sent = redis.call('lrange', 'sent', middle, middle)[1]
return {redis.call('lindex', 'inbox', middle):sub(1, 9), sent:sub(1, 9)}" 0
