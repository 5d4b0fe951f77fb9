-- Gives the lock back if it is still ours.
-- KEYS[1] resource
-- ARGV[1] token
-- reply   1   deleted
--         0   not ours: nothing there, or somebody else's token
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
