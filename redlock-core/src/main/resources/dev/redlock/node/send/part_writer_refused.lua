-- Part of the scripts of writers: refuses the writer while others hold the lock, and leaves its reservation if these
-- are readers.
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if last[2] and tonumber(last[2]) > 0 then
  if reservation ~= '' then
    local ttl = tonumber(ARGV[2])
    local score = redis.call('ZSCORE', KEYS[1], reservation)
    if not score or -tonumber(score) < now + ttl / 2 then
      redis.call('ZADD', KEYS[1], string.format('%.0f', -(now + ttl)), reservation)
      if redis.call('PTTL', KEYS[1]) < ttl then
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
      end
      redis.call('ZCARD', KEYS[1])
    end
  end
  return now - tonumber(last[2])
end
