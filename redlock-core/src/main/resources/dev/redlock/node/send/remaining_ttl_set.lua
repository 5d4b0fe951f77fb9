-- Reads how long the keys of a set exist. With CLIENT CACHING YES before it, the node pushes the next change of each
-- key.
-- KEYS[i] resource
-- ARGV[1] token, which is not used
-- reply   n >= 0   the last of the keys that exist expires in n ms
--         -1       a key exists that never expires
--         -2       no key exists
local longest = -2
for i = 1, #KEYS do
  local ttl = redis.call('PTTL', KEYS[i])
  if ttl == -1 then
    return -1
  end
  if ttl > longest then
    longest = ttl
  end
end
return longest
