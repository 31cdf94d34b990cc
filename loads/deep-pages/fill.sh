#!/bin/sh
# Makes two sorted sets in the redis that listens at the Unix socket $1, each with a list of nodes
# that takes seven tenths of a core's L2. Members come in random order, as a server's do, so that
# the nodes lie anywhere. Share of an L2 in percent: $2.
set -eu
l2=$(getconf LEVEL2_CACHE_SIZE)
[ "${l2:-0}" -gt 0 ] || l2=1048576
redis-cli -s "$1" eval "
local order = {}
for i = 1, ARGV[1] do table.insert(order, math.random(i), i) end
for _, i in ipairs(order) do redis.call('zadd', 'daily', i, 'user:' .. i) end
for _, i in ipairs(order) do redis.call('zadd', 'catalog', 0, 'item:' .. 1000000 + i) end
return #order" 0 $((l2 * ${2:-70} / 100 / 66))
