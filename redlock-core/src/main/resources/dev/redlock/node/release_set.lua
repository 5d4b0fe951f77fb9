-- Deletes the keys of a set that still have our token.
-- KEYS[i] resource
-- ARGV[1] token
-- reply   1   every key was ours and is deleted
--         -n  n keys were ours and are deleted; another one was missing, had another token, or was no string
--         0   none was ours
local found = redis.call('MGET', unpack(KEYS))
local ours = {}
for i = 1, #KEYS do
  if found[i] == ARGV[1] then
    ours[#ours + 1] = KEYS[i]
  end
end
if #ours > 0 then
  redis.call('DEL', unpack(ours))
end
return #ours == #KEYS and 1 or -#ours
