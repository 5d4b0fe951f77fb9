-- Renews the expiry if the lock is still ours; puts a missing key back, which the caller does not count as held.
-- KEYS[1] resource
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1   renewed: the key holds our token and expires after ttl or later
--         2   repaired: the key was missing and has been set again
--         0   refused: the key has another token
-- The expiry only gets later, never earlier: this call may be executed late, after one that came on another connection
-- and asked for more. PEXPIRE has GT for that from Redis 7.0 on only, and it leaves a key alone that never expires.
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 1
end
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 2
end
return 0
