#!/bin/sh
# Requests deep pages of both sets, $2 (2000) times, from the redis that listens on the Unix socket
# $1. A request is a script of two reads, each of ten members near the end of its set. Redis walks a
# list of nodes up to there, so all of one set passes through the cache, then all of the other. A
# hundred requests are in flight at a time: the client shares the CPUs with the server, and sleeps
# until they are answered.
set -eu
redis-benchmark -s "$1" -c 1 -P 100 -n "${2:-2000}" -q eval "
local last = redis.call('zcard', 'daily') - 10
redis.call('zrangebyscore', 'daily', '-inf', '+inf', 'limit', last, 10)
return redis.call('zrangebylex', 'catalog', '-', '+', 'limit', last, 10)" 0
