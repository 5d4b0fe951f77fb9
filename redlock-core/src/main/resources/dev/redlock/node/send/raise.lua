-- Raises the counter of a lock that is still ours to the value that other nodes have counted to.
-- KEYS[1] resource   KEYS[2] counter
-- ARGV[1] token   ARGV[2] value   ARGV[3] expiry of the counter in ms
-- reply   1   the counter is exactly the value and the lock is ours
--         0   the lock is not ours, or the counter stands above the value or is no number, or the value is not exact
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
local value = tonumber(ARGV[2])
local current = tonumber(redis.call('GET', KEYS[2]) or '0')
if not current or current > value or value > 9007199254740991 then
  return 0
end
redis.call('SET', KEYS[2], string.format('%.0f', value), 'PX', ARGV[3])
return 1
