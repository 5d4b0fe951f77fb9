-- Shows the key of a lock to people. It changes nothing.
-- KEYS[1] resource
-- reply   the type of the key, none without a key; its remaining ttl in ms, -1 if it never expires, -2 without a key;
--         its value if that is a string of at most 128 bytes, else an empty string
local kind = redis.call('TYPE', KEYS[1]).ok
local value = ''
if kind == 'string' then
  value = redis.call('GET', KEYS[1])
end
if #value > 128 then
  value = ''
end
return {kind, redis.call('PTTL', KEYS[1]), value}
