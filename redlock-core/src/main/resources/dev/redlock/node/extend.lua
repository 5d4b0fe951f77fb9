-- Renews the expiry if the lock is still ours; puts a missing key back, which the caller does not count as held.
-- KEYS[1] resource
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1   renewed: the key held our token and expires after ttl
--         2   repaired: the key was missing and has been set again
--         0   refused: somebody else's token stands there
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 2
end
return 0
