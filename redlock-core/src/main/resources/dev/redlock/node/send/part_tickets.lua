-- Part of the scripts with tickets. Changes a key of tickets, and returns the last ticket, and the last one that was
-- granted; nil without tickets. The key is a count: the last ticket times 2^16, plus the last ticket that was granted.
-- It is not in KEYS, because a server before Redis 7.2 registers all of KEYS for a push; and INCRBY reads it, because
-- newer servers register what a read-only command reads. pcall: a missing right, a foreign key or a cluster with the key
-- elsewhere costs the order only, and an error after the grant would leave a lock behind that nobody releases.
local function tickets(key, change)
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
