-- Looks for a free slot of a semaphore, from a random one on. It changes nothing. With CLIENT CACHING YES before it,
-- the node pushes the next change of each slot that it has looked at: of all if none is free.
-- KEYS[i] slot
-- ARGV[1] random bytes, at least 20
-- reply   i > 0               slot i is free
--         -n, n >= 0          none is free; the first of them expires in n ms
--         -9007199254740991   none is free, and none expires
local low = string.byte(ARGV[1], 19) * 256 + string.byte(ARGV[1], 20)
local shortest = 9007199254740991
for i = 1, #KEYS do
  local slot = (low + i) % #KEYS + 1
  local ttl = redis.call('PTTL', KEYS[slot])
  if ttl == -2 then
    return slot
  end
  if ttl >= 0 and ttl < shortest then
    shortest = ttl
  end
end
return -shortest
