-- Brings the expiry of a reader's entry forward: the reader has finished early.
-- KEYS[1] resource, as in acquire_read
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1   the entry expires after ttl or earlier
--         0   there is none: it had expired, or a writer holds the lock
-- The key expires with its last entry, so its expiry may become earlier.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local score = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if not score or type(score) == 'table' or tonumber(score) <= now then
  return 0
end
if tonumber(score) > now + ARGV[2] then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
  local untilMs = math.max(tonumber(last[2]), -tonumber(first[2]))
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', untilMs))
end
return 1
