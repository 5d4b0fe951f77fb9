-- Takes every key of a set if all are free, or none. A client that waits leaves its intention beside the keys, which
-- refuses other clients that wait or give way, for 300 ms.
-- KEYS[i] resource
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] name of the client's intention; ? to leave none, but to respect those of
--         others; empty to ignore them too
-- reply   1                   granted: each key now holds the token and expires after ttl; the client's intention ends
--         -(n * 2^7 + i)      refused: the last of the keys that exist, or another client's intention, expires in n ms;
--                             if n is 2^46 - 1, a key never expires. i is the number of the first key that exists, or
--                             with an intention if none exists
-- An intention is a key of its own: that of a resource with the ending :redlock:intention. It is not in KEYS, because a
-- server before Redis 7.2 registers all of KEYS for a push. A key of that name that lasts for longer than 300 ms is
-- foreign: it stays and refuses nobody.
-- The resources are sorted, and a client leaves its intention on those before the first one with that of another: so
-- clients never wait for the intentions of each other in a circle.
local left = 0
local reserved
local taken
local own = {}
local other = {}
if ARGV[3] ~= '' then
  for i = 1, #KEYS do
    local found = redis.pcall('GET', KEYS[i] .. ':redlock:intention')
    if found == ARGV[3] then
      own[i] = true
    elseif type(found) == 'string' then
      local ttl = redis.call('PTTL', KEYS[i] .. ':redlock:intention')
      if ttl > 0 and ttl <= 300 then
        other[i] = true
        reserved = reserved or i
        left = math.max(left, ttl)
      end
    end
  end
end
if reserved or redis.call('EXISTS', unpack(KEYS)) > 0 then
  for i = 1, #KEYS do
    local ttl = redis.call('PTTL', KEYS[i])
    if ttl == -1 or ttl > 70368744177662 then
      return -(70368744177663 * 128 + i)
    end
    taken = taken or ttl > -1 and i
    left = math.max(left, ttl)
  end
  for i = 1, (ARGV[3] == '' or ARGV[3] == '?') and 0 or #KEYS do
    if other[i] then
      break
    end
    redis.pcall('SET', KEYS[i] .. ':redlock:intention', ARGV[3], 'NX', 'PX', 300)
  end
  return -(left * 128 + (taken or reserved or 0))
end
for i = 1, #KEYS do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  if own[i] then
    redis.pcall('DEL', KEYS[i] .. ':redlock:intention')
  end
end
return 1
