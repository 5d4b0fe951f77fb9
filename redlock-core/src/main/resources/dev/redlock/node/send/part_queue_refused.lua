  -- Part of the scripts that enter the queue: refuses the client, unless the lock is free and the client cannot enter.
  -- That refusal would hide the error of a server that refuses writes. And a client without the right to enter could
  -- not drop the entry of a dead one. Both CH and LT return a number; servers before 6.2 have no LT.
  if first == client then
    redis.pcall('DEL', silent)
  end
  local time = redis.pcall('TIME')
  local added
  if time[1] then
    local score = string.format('%.0f', time[1] * 1000000 + time[2] - waited)
    added = redis.pcall('ZADD', queue, mode == 'f' and 'CH' or 'LT', score, client)
    if type(added) ~= 'number' then
      added = redis.pcall('ZADD', queue, 'NX', score, client)
    end
    if type(added) == 'number' then
      redis.pcall('PEXPIRE', queue, 60000)
      redis.pcall('PEXPIRE', counter .. ':trace', 60000)
    end
    if added == 1 and (mode == 'e' or mode == 'c') then
      redis.pcall('SET', counter .. ':slow:' .. client, 1, 'NX', 'PX', 60000)
    end
  end
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl ~= -2 or type(added) == 'number' then
    -- An entry that has stayed since an earlier wait says nothing about the place.
    local place = type(added) == 'number' and redis.pcall('ZRANK', queue, client)
    if type(place) ~= 'number' or place > 1048574 then
      place = 1048574
    end
    if ttl < -1 then
      ttl = 0
    elseif ttl == -1 or ttl > 4294967295 then
      ttl = 4294967295
    end
    return -(ttl * 1048576 + place + 1)
  end
