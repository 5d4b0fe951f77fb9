-- Takes the lock for a writer as acquire_write does, and counts the grant as acquire_fenced does.
-- KEYS[1] resource, as in acquire_read   KEYS[2] counter
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] expiry of the counter in ms
-- ARGV[4] name of the reservation; empty for none
-- reply   v > 0               granted: the counter is v now; a missing counter starts at
--                             (seconds since the epoch) * 2^20
--         -n, n >= 0          refused: the key of a writer, or the last entry of a reader, expires in n ms
--         -9007199254740991   refused: a key exists that never expires
--         error               the counter is not a count, or it has reached 2^53 - 1; it leaves no lock behind
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local pruned = redis.pcall('ZREMRANGEBYSCORE', KEYS[1], string.format('%.0f', -now), string.format('%.0f', now))
if type(pruned) == 'table' then
  local ttl = redis.call('PTTL', KEYS[1])
  return ttl == -1 and -9007199254740991 or -math.max(0, ttl)
end
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if last[2] and tonumber(last[2]) > 0 then
  if ARGV[4] ~= '' then
    local ttl = tonumber(ARGV[2])
    local score = redis.call('ZSCORE', KEYS[1], ARGV[4])
    if not score or -tonumber(score) < now + ttl / 2 then
      redis.call('ZADD', KEYS[1], string.format('%.0f', -(now + ttl)), ARGV[4])
      if redis.call('PTTL', KEYS[1]) < ttl then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
      end
      redis.call('ZCARD', KEYS[1])
    end
  end
  return now - tonumber(last[2])
end
local value = redis.call('INCR', KEYS[2])
if value == 1 then
  value = tonumber(time[1]) * 1048576
  if value > 9007199254740991 then
    redis.call('DEL', KEYS[2])
    return redis.error_reply('FENCE the clock is past March 2242, where counters end')
  end
  redis.call('SET', KEYS[2], string.format('%.0f', value), 'PX', ARGV[3])
elseif value < 1 or value > 9007199254740991 then
  redis.call('DECR', KEYS[2])
  return redis.error_reply('FENCE the counter is not a count, or it has reached its end')
else
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return value
