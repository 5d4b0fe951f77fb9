-- Says whether the lock is still ours. It reads the key, so with CLIENT CACHING YES before it the node pushes the next
-- change of the key.
-- KEYS[1] resource
-- ARGV[1] token
-- reply   1   the key holds our token
--         0   it does not, or there is no key
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return 1
end
return 0
