  -- Part of the scripts with a ticket, which refuse the client.
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < -1 then
    ttl = 0
  elseif ttl == -1 or ttl > 4294967295 then
    ttl = 4294967295
  end
  last, latest = tickets(ticket_key, ticket < 1 and 65536 or 0)
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
