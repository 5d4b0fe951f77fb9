-- Takes the lock if nobody holds it.
-- KEYS[1] resource
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1                   granted: the key now holds the token and expires after ttl
--         -n, n >= 0          refused: another key exists for n ms more
--         -9007199254740991   refused: another key exists and never expires
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
local ttl = redis.call('PTTL', KEYS[1])
if ttl == -1 then
  return -9007199254740991
end
if ttl < 0 then
  return 0
end
return -ttl
