-- Renews the entry of a reader. Adds it again if it has expired and no writer holds the lock or waits for it, which the
-- caller does not count as held.
-- KEYS[1] resource, as in acquire_read
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1   renewed: the entry expires after ttl or later
--         2   repaired: the entry was missing and is added again
--         0   refused: a writer holds the lock or waits for it, or the key never expires, so it is of another program
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local score = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if type(score) == 'table' then
  return 0
end
local untilMs = score and tonumber(score) or 0
local isHeld = untilMs > now
if not isHeld then
  if redis.call('PTTL', KEYS[1]) == -1 then
    return 0
  end
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  if first[2] and tonumber(first[2]) < -now then
    return 0
  end
end
if untilMs < now + ARGV[2] then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return isHeld and 1 or 2
