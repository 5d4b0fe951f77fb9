-- Gives many fenced locks back, each if it is still ours, and brings each counter up to the highest value that any node
-- gave the grant, as release_fenced does for one.
-- KEYS[i] resource   KEYS[n + i] counter, n being half of the keys
-- ARGV[i] token   ARGV[n + i] highest value seen   ARGV[2 * n + 1] expiry of the counters in ms
-- reply   an array, for each resource
--         1   deleted
--         0   not ours: nothing there, somebody else's token, or something that is no string
-- Two commands for all of them, as in release_many. A counter that does not stand where it should is looked at again by
-- itself: it may be no string, which MGET does not show, or an earlier one of this call has raised it. One that is
-- missing or no number is left alone, and a value that is not exact is not written.
local n = #KEYS / 2
local found = redis.call('MGET', unpack(KEYS))
--include part_many_released
for i = n + 1, 2 * n do
  if found[i] ~= ARGV[i] then
    local highest = tonumber(ARGV[i])
    local current = tonumber(redis.pcall('GET', KEYS[i]) or '')
    if current and current < highest and highest <= 9007199254740991 then
      redis.call('SET', KEYS[i], string.format('%.0f', highest), 'PX', ARGV[2 * n + 1])
    end
  end
end
return deleted
