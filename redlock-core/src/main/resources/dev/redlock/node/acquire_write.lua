-- Takes the lock for a writer if nobody holds it. If readers do, the writer leaves its reservation: new readers are
-- refused until it expires.
-- KEYS[1] resource, as in acquire_read
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] name of the reservation; empty for none
-- reply   1                   granted: the key now has the token and expires after ttl; all reservations end
--         -n, n >= 0          refused: the key of a writer, or the last entry of a reader, expires in n ms
--         -9007199254740991   refused: a key exists that never expires
-- The reservation is written only if less than half of its time is left: each write wakes the waiters of all clients.
-- It ends the registration of this connection, so the last command reads, which registers for the next push.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local pruned = redis.pcall('ZREMRANGEBYSCORE', KEYS[1], string.format('%.0f', -now), string.format('%.0f', now))
if type(pruned) == 'table' then
  local ttl = redis.call('PTTL', KEYS[1])
  return ttl == -1 and -9007199254740991 or -math.max(0, ttl)
end
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if not last[2] or tonumber(last[2]) < 0 then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
if ARGV[3] ~= '' then
  local ttl = tonumber(ARGV[2])
  local score = redis.call('ZSCORE', KEYS[1], ARGV[3])
  if not score or -tonumber(score) < now + ttl / 2 then
    redis.call('ZADD', KEYS[1], string.format('%.0f', -(now + ttl)), ARGV[3])
    if redis.call('PTTL', KEYS[1]) < ttl then
      redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    redis.call('ZCARD', KEYS[1])
  end
end
return now - tonumber(last[2])
