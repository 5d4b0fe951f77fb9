-- Takes every key of a set if all are free, or none, and counts the grant: every counter of the set gets one number,
-- which is greater than each of them was.
-- KEYS[i] resource   KEYS[n + i] counter, n being half of the keys
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] expiry of the counters in ms   ARGV[4] floor, as in
--         acquire_fenced   ARGV[5] reservation, as ARGV[3] of acquire_set   ARGV[5 + i] tickets, as ARGV[3 + i] there
-- reply   v > 0               granted: every counter is v; a missing counter counts as (seconds since the epoch) * 2^20
--         -(n * 2^22 + ticket * 2^12 + i * 2^5 + place)
--                             refused, as by acquire_set
--         error               a counter is not a count, or it has reached 2^53 - 1
-- The counters come first: an error about them leaves no lock behind. MGET takes one of another type for missing, which
-- EXISTS does not.
local n = #KEYS / 2
local reservation = ARGV[5]
local tickets_from = 5
--include part_tickets
--include part_set_refused
local found = redis.call('MGET', unpack(KEYS, n + 1))
local value = tonumber(ARGV[4])
local is_any_missing = false
for i = 1, n do
  local count = tonumber(found[i] or redis.call('EXISTS', KEYS[n + i]) == 0 and '0' or '')
  if not count or count < 0 or count ~= math.floor(count) then
    return redis.error_reply('FENCE the counter is not a count, or it has reached its end')
  end
  if count == 0 then
    is_any_missing = true
  elseif count >= value then
    value = count + 1
  end
end
if is_any_missing then
  value = math.max(value, tonumber(redis.call('TIME')[1]) * 1048576)
end
if value > 9007199254740991 then
  return redis.error_reply('FENCE the counter is not a count, or it has reached its end')
end
local text = string.format('%.0f', value)
for i = 1, n do
  redis.call('SET', KEYS[n + i], text, 'PX', ARGV[3])
end
--include part_set_taken
return value
