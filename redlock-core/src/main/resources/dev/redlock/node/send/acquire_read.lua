-- Adds a reader, unless a writer holds the lock or waits for it.
-- KEYS[1] resource: a string with the token of a writer, or a sorted set. A member of the set is the token of a reader
--                   with its expiry, or that of a waiting writer with its expiry negated, both in ms since the epoch
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1                   granted: the reader has an entry that expires after ttl
--         -n, n >= 0          refused: the key of the writer expires in n ms, or its reservation does
--         0                   refused: an extension of the token, which this acquire was sent before, has added it
--         -9007199254740991   refused: a key exists that never expires
-- One expiry for each reader: a reader that dies does not stay for as long as others come. Entries from -now to now
-- have expired. The key expires with its last entry. An entry whose key cannot expire is removed: such a key would
-- refuse all others for ever. Only a pruned key may have another ttl than before.
--include part_readers_pruned
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if first[2] and tonumber(first[2]) < 0 then
  return tonumber(first[2]) + now
end
if redis.call('ZADD', KEYS[1], 'NX', string.format('%.0f', now + ARGV[2]), ARGV[1]) == 0 then
  return 0
end
if (pruned > 0 and redis.call('PTTL', KEYS[1]) or left) < tonumber(ARGV[2]) then
  local set = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
  if type(set) == 'table' then
    redis.call('ZREM', KEYS[1], ARGV[1])
    return set
  end
end
return 1
