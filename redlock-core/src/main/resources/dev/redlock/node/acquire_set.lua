-- Takes every key of a set if all are free, or none. A client that waits leaves its reservation beside the keys, which
-- refuses other clients that wait or give way, for 300 ms.
-- KEYS[i] resource
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] name of the client's reservation; ? to leave none, but to respect those
--         of others; empty to ignore them too   ARGV[3 + i] ticket of the client for KEYS[i], 0 without one; no such
--         argument for a client that gets none
-- reply   1                   granted: each key has the token and expires after ttl; the client's reservation ends
--         -(n * 2^22 + ticket * 2^12 + i * 2^5 + place)
--                             refused: the last of the keys in use, or another client's reservation, expires in n ms;
--                             24 days or never if n is 2^31 - 1. i is the number of the first key that exists, or with
--                             a reservation if none exists. The ticket orders the clients that wait for that key, as in
--                             acquire_with_ticket: it is 1 to 1023, 0 for none; place - 1 clients precede, place is 31
--                             at most, 1 for a ticket that has passed or with the client's reservation on the key, and
--                             0 without a ticket
-- A reservation is a key of its own: that of a resource with the ending :redlock:reservation. It is not in KEYS,
-- because a server before Redis 7.2 registers all of KEYS for a push. A key of that name that lasts for more than
-- 300 ms is foreign: it stays and refuses nobody.
-- The resources are sorted, and a client leaves its reservation on those before the first one with that of another: so
-- clients never wait for the reservations of each other in a circle. The first refusal behind other clients leaves none
-- on that key: these may be about to ask.
-- The tickets of a resource are a key of its own too, as that of acquire_with_ticket.
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
if ARGV[3] ~= '' then
  for i = 1, #KEYS do
    local found = redis.pcall('GET', KEYS[i] .. ':redlock:reservation')
    if found == ARGV[3] then
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
if reserved or redis.call('EXISTS', unpack(KEYS)) > 0 then
  for i = 1, #KEYS do
    local ttl = redis.call('PTTL', KEYS[i])
    if ttl == -1 or ttl > 2147483646 then
      return -(2147483647 * 4194304 + i * 32)
    end
    taken = taken or ttl > -1 and i
    left = math.max(left, ttl)
  end
  local first = taken or reserved or 0
  local ticket = tonumber(ARGV[3 + first] or -1)
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
  for i = 1, (ARGV[3] == '' or ARGV[3] == '?') and 0 or #KEYS do
    if other[i] or new and i == first and place > 1 then
      break
    end
    own[i] = own[i] or redis.pcall('SET', KEYS[i] .. ':redlock:reservation', ARGV[3], 'NX', 'PX', 300)
  end
  if last and own[first] then
    place = 1
  end
  return -(left * 4194304 + (last and ticket or 0) * 4096 + first * 32 + math.min(place, 31))
end
for i = 1, #KEYS do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  if own[i] then
    redis.pcall('DEL', KEYS[i] .. ':redlock:reservation')
  end
  local ticket = tonumber(ARGV[3 + i] or 0)
  local last, latest
  if ticket > 0 then
    last, latest = tickets(i, 0)
  end
  if last and (ticket - 1 - latest) % 1023 <= (last - latest) % 1023 then
    redis.pcall('INCRBY', KEYS[i] .. ':redlock:reservation:tickets', ticket - 1 - latest)
  end
end
return 1
