-- Reads whether every key of a set still has our token. With CLIENT CACHING YES before it, the node pushes the next
-- change of each key.
-- KEYS[i] resource
-- ARGV[1] token
-- reply   1   every key has our token
--         0   at least one does not
local found = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  if found[i] ~= ARGV[1] then
    return 0
  end
end
return 1
