#!/bin/sh
# Fills two lists of documents in the redis or valkey that listens on the Unix socket $1. A document
# takes more than half of a list's node (8 KiB), so each has a node, and half of a list's nodes
# take $2 percent (70) of a core's L2. Other keys are written in between, as in a real server, so
# that the nodes of a list are scattered in memory.
set -eu
l2=$(getconf LEVEL2_CACHE_SIZE)
[ "${l2:-0}" -gt 0 ] || l2=1048576
redis-cli -s "$1" eval "
local document, keys = string.rep('.', 4100), 0
local missing = {inbox = tonumber(ARGV[1]), sent = tonumber(ARGV[1])}
while missing.inbox > 0 or missing.sent > 0 do
    local list = ({'inbox', 'sent'})[math.random(10)]
    if not list then
        keys = keys + 1
        redis.call('set', 'user:' .. keys, 'seen at 13:42')
    elseif missing[list] > 0 then
        missing[list] = missing[list] - 1
        redis.call('rpush', list, missing[list] .. document)
    end
end
return keys" 0 $((l2 * ${2:-70} / 100 / 96 * 2))
