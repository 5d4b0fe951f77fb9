-- Raises every counter of a set whose keys are still ours to the value that other nodes have counted to.
-- KEYS[i] resource   KEYS[n + i] counter, n being half of the keys
-- ARGV[1] token   ARGV[2] value   ARGV[3] expiry of the counters in ms
-- reply   1   every counter is exactly the value, and every key is ours
--         0   a key is not ours, or a counter is above the value or no number, or the value is not exact
local n = #KEYS / 2
local found = redis.call('MGET', unpack(KEYS))
local value = tonumber(ARGV[2])
for i = 1, n do
  -- MGET takes a counter of another type for missing, EXISTS does not.
  local current = tonumber(found[n + i] or redis.call('EXISTS', KEYS[n + i]) == 0 and '0' or '')
  if found[i] ~= ARGV[1] or not current or current > value or value > 9007199254740991 then
    return 0
  end
end
for i = n + 1, 2 * n do
  redis.call('SET', KEYS[i], string.format('%.0f', value), 'PX', ARGV[3])
end
return 1
