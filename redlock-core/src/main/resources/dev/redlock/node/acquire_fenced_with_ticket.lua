-- Takes the lock if nobody holds it, and counts the grant. A refused client gets a ticket, and its place with each
-- refusal: the order in which the waiting clients try after the release.
-- KEYS[1] resource   KEYS[2] counter
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] expiry of the counter in ms   ARGV[4] ticket of the client
--         A client without a ticket gives 0, or -1 if it yields: it takes the lock only if no other client has one.
--         The key of the tickets is the counter's with the ending :tickets.
-- reply   v > 0               granted: the counter is v now, as in acquire_fenced
--         -(n * 2^20 + ticket * 2^5 + place)
--                             refused: another key exists for n ms more, 49 days or more if n is 2^32 - 1,
--                             and 0 if the client yields;
--                             the ticket is 1 to 32767, 0 for none; place - 1 clients precede, place is 31 at most,
--                             and 0 for a ticket that has passed
--         error               as in acquire_fenced
-- The key of the tickets is a count: the last ticket times 2^16, plus the last ticket that was granted. The key is not
-- in KEYS, because a server before Redis 7.2 registers all of KEYS for a push; and INCRBY reads it, because newer
-- servers register what a read-only command reads. pcall: a missing right, a foreign key or a cluster with the key
-- elsewhere costs the order only, and an error after the grant would leave a lock behind that nobody releases.
local function tickets(change)
  local count = redis.pcall('INCRBY', KEYS[2] .. ':tickets', change)
  if type(count) ~= 'number' or count < 0 then
    return nil
  end
  redis.pcall('PEXPIRE', KEYS[2] .. ':tickets', 60000)
  if count > 4503599627370495 then
    redis.pcall('DEL', KEYS[2] .. ':tickets')
    return nil
  end
  return math.floor(count / 65536), count % 65536
end
local ticket = tonumber(ARGV[4])
local last, latest
if ticket < 0 then
  last, latest = tickets(0)
end
local yields = last and (last - latest) % 32767 > 0
if yields or redis.call('EXISTS', KEYS[1]) == 1 then
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < -1 then
    ttl = 0
  elseif ttl == -1 or ttl > 4294967295 then
    ttl = 4294967295
  end
  last, latest = tickets(ticket < 1 and 65536 or 0)
  if not last then
    return -ttl * 1048576
  end
  if ticket < 1 then
    ticket = last % 32767 + 1
  end
  local place = (ticket - 1 - latest) % 32767
  if place > (last - latest) % 32767 then
    place = 0
  end
  return -(ttl * 1048576 + ticket * 32 + math.min(place, 31))
end
local value = redis.call('INCR', KEYS[2])
if value == 1 then
  value = tonumber(redis.call('TIME')[1]) * 1048576
  if value > 9007199254740991 then
    redis.call('DEL', KEYS[2])
    return redis.error_reply('FENCE the clock is past March 2242, where counters end')
  end
  redis.call('SET', KEYS[2], string.format('%.0f', value), 'PX', ARGV[3])
elseif value < 1 or value > 9007199254740991 then
  redis.call('DECR', KEYS[2])
  return redis.error_reply('FENCE the counter is not a count, or it has reached its end')
else
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if ticket > 0 then
  last, latest = tickets(0)
  if last and (ticket - 1 - latest) % 32767 <= (last - latest) % 32767 then
    redis.pcall('INCRBY', KEYS[2] .. ':tickets', ticket - 1 - latest)
  end
end
return value
