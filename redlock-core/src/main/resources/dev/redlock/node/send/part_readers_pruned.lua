-- Part of the scripts of readers and writers: removes the readers and the reservation that have expired. A key of
-- another type, as that of a writer, refuses. Another error is the reply: the server accepts no write.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local pruned = redis.pcall('ZREMRANGEBYSCORE', KEYS[1], string.format('%.0f', -now), string.format('%.0f', now))
if type(pruned) == 'table' then
  if not pruned.err:find('WRONGTYPE') then
    return pruned
  end
  local ttl = redis.call('PTTL', KEYS[1])
  return ttl == -1 and -9007199254740991 or -math.max(0, ttl)
end
