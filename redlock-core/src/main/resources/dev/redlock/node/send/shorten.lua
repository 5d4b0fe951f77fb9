-- Brings the expiry of each key forward that is still ours: its holder has finished early.
-- KEYS[1] resource; the others of a set follow
-- ARGV[1] token   ARGV[2] ttl in ms
-- reply   1   every key has our token and expires after ttl or earlier
--         0   at least one does not have our token
-- A key of another type is not ours: it raises no error, which would hide the other keys of a set.
local ours = 1
for i = 1, #KEYS do
  if redis.pcall('GET', KEYS[i]) == ARGV[1] then
    local left = redis.call('PTTL', KEYS[i])
    if left < 0 or left > tonumber(ARGV[2]) then
      redis.call('PEXPIRE', KEYS[i], ARGV[2])
    end
  else
    ours = 0
  end
end
return ours
