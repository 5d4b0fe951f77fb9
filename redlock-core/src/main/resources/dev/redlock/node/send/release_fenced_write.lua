-- Releases the lock of a writer, and raises the counter to the highest value that any node gave this grant, as
-- release_fenced does.
-- KEYS[1] resource, as in acquire_read   KEYS[2] counter
-- ARGV[1] token   ARGV[2] highest value seen   ARGV[3] expiry of the counter in ms
-- reply   1   the lock was ours and is deleted
--         0   it was not
local found = redis.call('MGET', KEYS[1], KEYS[2])
local deleted = 0
if found[1] == ARGV[1] then
  deleted = redis.call('DEL', KEYS[1])
end
local highest = tonumber(ARGV[2])
local current = tonumber(found[2] or '')
if current and current < highest and highest <= 9007199254740991 then
  redis.call('SET', KEYS[2], string.format('%.0f', highest), 'PX', ARGV[3])
end
return deleted
