-- Deletes the keys of a set that still have our token, and raises each counter to the highest value that any node gave
-- this grant, as release_fenced does for one.
-- KEYS[i] resource   KEYS[n + i] counter, n being half of the keys
-- ARGV[1] token   ARGV[2] highest value seen   ARGV[3] expiry of the counters in ms
-- reply   1   every key was ours and is deleted
--         -n  n keys were ours and are deleted; another one was missing, had another token, or was no string
--         0   none was ours
local n = #KEYS / 2
local found = redis.call('MGET', unpack(KEYS))
--include part_set_released
local highest = tonumber(ARGV[2])
for i = n + 1, 2 * n do
  local current = tonumber(found[i] or '')
  if current and current < highest and highest <= 9007199254740991 then
    redis.call('SET', KEYS[i], string.format('%.0f', highest), 'PX', ARGV[3])
  end
end
return #ours == n and 1 or -#ours
