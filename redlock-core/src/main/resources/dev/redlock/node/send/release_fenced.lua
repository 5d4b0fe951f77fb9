-- Gives a fenced lock back if it is still ours, and brings the counter up to the highest value that any node gave this
-- grant, so that nodes that drifted apart agree again. A counter only ever goes up, with each holder.
-- A counter that is missing stays so: a release that is executed late would create it below what the clock gives. A
-- counter that is no number is left alone, and a value that is not exact is not written: neither must keep the lock
-- from being released, which comes first for that reason.
-- KEYS[1] resource   KEYS[2] counter
-- ARGV[1] token   ARGV[2] highest value seen   ARGV[3] expiry of the counter in ms
-- reply   1       deleted
--         0       not ours: nothing there, or somebody else's token
--         error   the counter is no string; whatever was ours is deleted
local deleted = 0
if redis.call('GET', KEYS[1]) == ARGV[1] then
  deleted = redis.call('DEL', KEYS[1])
end
local counter = redis.call('GET', KEYS[2])
if counter ~= ARGV[2] then
  local highest = tonumber(ARGV[2])
  local current = tonumber(counter or '')
  if current and current < highest and highest <= 9007199254740991 then
    redis.call('SET', KEYS[2], string.format('%.0f', highest), 'PX', ARGV[3])
  end
end
return deleted
