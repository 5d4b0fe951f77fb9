-- Takes every key of a set if all are free, or none, and counts the grant: every counter of the set gets one number,
-- which is greater than each of them was.
-- KEYS[i] resource   KEYS[n + i] counter, n being half of the keys
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] expiry of the counters in ms   ARGV[4] reservation, as
--         ARGV[3] of acquire_set   ARGV[4 + i] tickets, as ARGV[3 + i] of acquire_set
-- reply   v > 0               granted: every counter is v; a missing counter counts as (seconds since the epoch) * 2^20
--         -(n * 2^22 + ticket * 2^12 + i * 2^5 + place)
--                             refused, as by acquire_set
--         error               a counter is not a count, or it has reached 2^53 - 1
-- The counters come first: an error about them leaves no lock behind.
local n = #KEYS / 2
local function tickets(i, change)
  local key = KEYS[i] .. ':redlock:reservation:tickets'
  local count = redis.pcall('INCRBY', key, change)
  if type(count) ~= 'number' or count < 0 then
    return nil
  end
  redis.pcall('PEXPIRE', key, 60000)
  if count > 4503599627370495 then
    redis.pcall('DEL', key)
    return nil
  end
  return math.floor(count / 65536), count % 65536
end
local left = 0
local reserved
local taken
local own = {}
local other = {}
if ARGV[4] ~= '' then
  for i = 1, n do
    local found = redis.pcall('GET', KEYS[i] .. ':redlock:reservation')
    if found == ARGV[4] then
      own[i] = true
    elseif type(found) == 'string' then
      local ttl = redis.call('PTTL', KEYS[i] .. ':redlock:reservation')
      if ttl > 0 and ttl <= 300 then
        other[i] = true
        reserved = reserved or i
        left = math.max(left, ttl)
      end
    end
  end
end
if reserved or redis.call('EXISTS', unpack(KEYS, 1, n)) > 0 then
  for i = 1, n do
    local ttl = redis.call('PTTL', KEYS[i])
    if ttl == -1 or ttl > 2147483646 then
      return -(2147483647 * 4194304 + i * 32)
    end
    taken = taken or ttl > -1 and i
    left = math.max(left, ttl)
  end
  local first = taken or reserved or 0
  local ticket = tonumber(ARGV[4 + first] or -1)
  local place = 0
  local last, latest, new
  if first > 0 and ticket >= 0 then
    last, latest = tickets(first, ticket == 0 and 65536 or 0)
  end
  if last then
    new = ticket == 0
    ticket = new and last % 1023 + 1 or ticket
    place = (ticket - 1 - latest) % 1023
    if place == 0 or place > (last - latest) % 1023 then
      place = 1
    end
  end
  for i = 1, (ARGV[4] == '' or ARGV[4] == '?') and 0 or n do
    if other[i] or new and i == first and place > 1 then
      break
    end
    own[i] = own[i] or redis.pcall('SET', KEYS[i] .. ':redlock:reservation', ARGV[4], 'NX', 'PX', 300)
  end
  if last and own[first] then
    place = 1
  end
  return -(left * 4194304 + (last and ticket or 0) * 4096 + first * 32 + math.min(place, 31))
end
local found = redis.call('MGET', unpack(KEYS, n + 1))
local value = 0
local is_any_missing = false
for i = 1, n do
  local count = tonumber(found[i] or '0')
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
for i = 1, n do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  if own[i] then
    redis.pcall('DEL', KEYS[i] .. ':redlock:reservation')
  end
  local ticket = tonumber(ARGV[4 + i] or 0)
  local last, latest
  if ticket > 0 then
    last, latest = tickets(i, 0)
  end
  if last and (ticket - 1 - latest) % 1023 <= (last - latest) % 1023 then
    redis.pcall('INCRBY', KEYS[i] .. ':redlock:reservation:tickets', ticket - 1 - latest)
  end
end
return value
