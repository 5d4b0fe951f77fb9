-- Part of the scripts that release many locks: deletes those of the n keys that have their token, as found.
local ours = {}
local deleted = {}
for i = 1, n do
  if found[i] == ARGV[i] then
    deleted[i] = 1
    ours[#ours + 1] = KEYS[i]
  else
    deleted[i] = 0
  end
end
if #ours > 0 then
  redis.call('DEL', unpack(ours))
end
