-- Reads whether a reader still has its entry. With CLIENT CACHING YES before it, the node pushes the next change.
-- KEYS[1] resource, as in acquire_read
-- ARGV[1] token
-- reply   1   the reader has an entry that has not expired
--         0   it has none
local time = redis.call('TIME')
local score = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if not score or type(score) == 'table' then
  return 0
end
return tonumber(score) > time[1] * 1000 + math.floor(time[2] / 1000) and 1 or 0
