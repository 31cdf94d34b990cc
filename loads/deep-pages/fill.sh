#!/bin/sh
# Creates two sorted sets in the redis that listens on the Unix socket $1. Each has a list of nodes
# that takes $2 percent (70) of a core's L2. Members are added in random order, as in a real server,
# so that the nodes are scattered in memory.
set -eu
l2=$(getconf LEVEL2_CACHE_SIZE)
[ "${l2:-0}" -gt 0 ] || l2=1048576
redis-cli -s "$1" eval "
local order = {}
for i = 1, ARGV[1] do table.insert(order, math.random(i), i) end
for _, i in ipairs(order) do redis.call('zadd', 'daily', i, 'user:' .. i) end
for _, i in ipairs(order) do redis.call('zadd', 'catalog', 0, 'item:' .. 1000000 + i) end
return #order" 0 $((l2 * ${2:-70} / 100 / 66))
