-- Renews the expiry of every key of a set, unless one is somebody else's. Sets missing keys again, which the caller
-- does not count as held.
-- KEYS[i] resource
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1   renewed: every key has our token and expires after ttl or later
--         2   repaired: at least one key was missing and is set again; the others are renewed
--         0   refused: a key is somebody else's; nothing has changed
-- As in extend, an expiry only gets later.
local found = redis.call('MGET', unpack(KEYS))
local missing = {}
for i = 1, #KEYS do
  if not found[i] then
    missing[#missing + 1] = KEYS[i]
  elseif found[i] ~= ARGV[1] then
    return 0
  end
end
-- MGET finds nothing where a key is no string.
if #missing > 0 and redis.call('EXISTS', unpack(missing)) > 0 then
  return 0
end
local ttl = tonumber(ARGV[2])
for i = 1, #KEYS do
  if not found[i] then
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  elseif redis.call('PTTL', KEYS[i]) < ttl then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
return #missing == 0 and 1 or 2
