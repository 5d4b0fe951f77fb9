-- Removes the entry of a reader.
-- KEYS[1] resource, as in acquire_read
-- ARGV[1] token
-- reply   1   removed
--         -1  removed, but it had expired
--         0   there was none, or a writer holds the lock
-- The key expires with its last entry, so its expiry may become earlier.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local score = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if not score or type(score) == 'table' then
  return 0
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('%.0f', -now), string.format('%.0f', now))
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if first[2] then
  local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
  local untilMs = math.max(tonumber(last[2]), -tonumber(first[2]))
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', untilMs))
end
return tonumber(score) > now and 1 or -1
