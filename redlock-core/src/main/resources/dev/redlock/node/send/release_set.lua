-- Deletes the keys of a set that still have our token.
-- KEYS[i] resource
-- ARGV[1] token
-- reply   1   every key was ours and is deleted
--         -n  n keys were ours and are deleted; another one was missing, had another token, or was no string
--         0   none was ours
local n = #KEYS
local found = redis.call('MGET', unpack(KEYS))
--include part_set_released
return #ours == n and 1 or -#ours
