-- Renews the expiry of many locks, each if it is still ours, and puts missing keys back, as extend does for one.
-- KEYS[i] resource
-- ARGV[i] token   ARGV[n + i] ttl in ms, n being the number of keys
-- reply   an array, for each key
--         1       renewed: the key holds our token and expires after ttl or later
--         2       repaired: the key was missing and has been set again
--         0       refused: the key has another token
--         error   the server refuses a command for this key, or the key is no string
-- A command that fails for one key must not keep the others from being renewed, so none of them raises an error. GT
-- saves a command for each key. Servers before 7.0 do not have it, and it leaves a key alone that never expires.
local n = #KEYS
local hasGt = true
local function renew(key, ttl)
  if hasGt then
    local changed = redis.pcall('PEXPIRE', key, ttl, 'GT')
    if changed == 1 then
      return 1
    end
    hasGt = type(changed) ~= 'table'
  end
  local left = redis.pcall('PTTL', key)
  if type(left) == 'table' then
    return left
  end
  return left < tonumber(ttl) and redis.pcall('PEXPIRE', key, ttl) or 1
end
-- MGET finds nothing where a key is not a string; GET fails.
local function repair(key, token, ttl)
  local holder = redis.pcall('GET', key)
  if holder then
    return holder
  end
  local set = redis.pcall('SET', key, token, 'PX', ttl)
  return set.err and set or 2
end
local found = redis.call('MGET', unpack(KEYS))
local replies = {}
for i = 1, n do
  if found[i] == ARGV[i] then
    replies[i] = renew(KEYS[i], ARGV[n + i])
  elseif found[i] then
    replies[i] = 0
  else
    replies[i] = repair(KEYS[i], ARGV[i], ARGV[n + i])
  end
end
return replies
