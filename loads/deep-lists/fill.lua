-- Fills two lists with about ARGV[1] documents each. A document takes more than half of a list's
-- node (8 KiB), so each has its own. Other keys, whose values are as large as a node without its
-- document, are written in between, as in a real server: so a list's nodes are scattered in memory.
local document = string.rep('.', 4100)
for i = 1, ARGV[1] * 10 do
    local kind = math.random(10)
    if kind == 1 then redis.call('rpush', 'inbox', i .. document)
    elseif kind == 2 then redis.call('rpush', 'sent', i .. document)
    else redis.call('set', 'user:' .. i, 'seen at 13:42') end
end
return redis.call('llen', 'inbox')
