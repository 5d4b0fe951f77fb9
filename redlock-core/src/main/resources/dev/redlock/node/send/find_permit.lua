-- Looks for free permits of a semaphore, from a random one on. It changes nothing. With CLIENT CACHING YES before it,
-- the node pushes the next change of each permit that it has looked at: of all if none is free.
-- KEYS[i] permit
-- ARGV[1] random bytes, at least 20   ARGV[2] the number of free permits that are wanted
-- reply   n > 0               permit n % 512 is free, and so is the permit that follows it after j others if bit j of
--                             n / 512 is set, for j < 40; permit 1 follows the last one
--         -n, n >= 0          none is free; the first of them expires in n ms
--         -9007199254740991   none is free, and none expires
local low = string.byte(ARGV[1], 19) * 256 + string.byte(ARGV[1], 20)
local left = tonumber(ARGV[2])
local shortest = 9007199254740991
local found = 0
local bit = 256
for i = 1, #KEYS do
  local permit = (low + i) % #KEYS + 1
  local ttl = redis.call('PTTL', KEYS[permit])
  if ttl == -2 then
    found = found + (found == 0 and permit or bit)
    left = left - 1
  elseif ttl >= 0 and ttl < shortest then
    shortest = ttl
  end
  if found > 0 then
    bit = bit * 2
    if left <= 0 or bit > 281474976710656 then
      return found
    end
  end
end
return found > 0 and found or -shortest
