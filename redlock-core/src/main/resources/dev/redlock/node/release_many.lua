-- Gives many locks back, each if it is still ours.
-- KEYS[i] resource
-- ARGV[i] token
-- reply   an array, for each key
--         1   deleted
--         0   not ours: nothing there, somebody else's token, or something that is no string
-- A key of another type must not keep the others from being given back.
local deleted = {}
for i = 1, #KEYS do
  if redis.pcall('GET', KEYS[i]) == ARGV[i] then
    deleted[i] = redis.call('DEL', KEYS[i])
  else
    deleted[i] = 0
  end
end
return deleted
