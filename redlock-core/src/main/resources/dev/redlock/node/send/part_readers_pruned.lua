-- Part of the scripts of readers and writers: removes the readers and the reservation that have expired. A key of
-- another type, as that of a writer, refuses. Another error is the reply: the server accepts no write. The key of
-- readers always expires, so one that does not is of another program and stays as it is.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left = redis.call('PTTL', KEYS[1])
if left == -1 then
  return -9007199254740991
end
local pruned = redis.pcall('ZREMRANGEBYSCORE', KEYS[1], string.format('%.0f', -now), string.format('%.0f', now))
if type(pruned) == 'table' then
  return pruned.err:find('WRONGTYPE') and -math.max(0, left) or pruned
end
