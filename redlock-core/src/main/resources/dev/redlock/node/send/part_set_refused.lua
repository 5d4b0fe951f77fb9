-- Part of the scripts of sets: refuses the set while one of its n keys is in use or reserved by another client.
-- A reservation is a key of its own: that of a resource with the ending :redlock:reservation. It is not in KEYS,
-- because a server before Redis 7.2 registers all of KEYS for a push. A key of that name that lasts for more than
-- 300 ms is foreign: it stays and refuses nobody.
-- The resources are sorted, and a client leaves its reservation on those before the first one with that of another: so
-- clients never wait for the reservations of each other in a circle. The first refusal behind other clients leaves none
-- on that key: these may be about to ask.
local left = 0
local reserved
local taken
local own = {}
local other = {}
if reservation ~= '' then
  for i = 1, n do
    local found = redis.pcall('GET', KEYS[i] .. ':redlock:reservation')
    if found == reservation then
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
  local ticket = tonumber(ARGV[tickets_from + first] or -1)
  local place = 0
  local last, latest, new
  if first > 0 and ticket >= 0 then
    last, latest = tickets(KEYS[first] .. ':redlock:reservation:tickets', ticket == 0 and 65536 or 0)
  end
  if last then
    new = ticket == 0
    ticket = new and last % 1023 + 1 or ticket
    place = (ticket - 1 - latest) % 1023
    if place == 0 or place > (last - latest) % 1023 then
      place = 1
    end
  end
  for i = 1, (reservation == '' or reservation == '?') and 0 or n do
    if other[i] or new and i == first and place > 1 then
      break
    end
    own[i] = own[i] or redis.pcall('SET', KEYS[i] .. ':redlock:reservation', reservation, 'NX', 'PX', 300)
  end
  if last and own[first] then
    place = 1
  end
  return -(left * 4194304 + (last and ticket or 0) * 4096 + first * 32 + math.min(place, 31))
end
