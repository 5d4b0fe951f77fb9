-- Part of the scripts that release a set: deletes those of its n keys that have our token, as found.
local ours = {}
for i = 1, n do
  if found[i] == ARGV[1] then
    ours[#ours + 1] = KEYS[i]
  end
end
if #ours > 0 then
  redis.call('DEL', unpack(ours))
end
