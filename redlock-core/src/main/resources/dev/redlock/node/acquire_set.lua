-- Takes every key of a set if all are free, or none.
-- KEYS[i] resource
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1                   granted: each key now holds the token and expires after ttl
--         -n, n >= 0          refused: the last of the keys that exist expires in n ms
--         -9007199254740991   refused: a key exists that never expires
if redis.call('EXISTS', unpack(KEYS)) == 0 then
  for i = 1, #KEYS do
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  end
  return 1
end
local longest = 0
for i = 1, #KEYS do
  local ttl = redis.call('PTTL', KEYS[i])
  if ttl == -1 then
    return -9007199254740991
  end
  if ttl > longest then
    longest = ttl
  end
end
return -longest
