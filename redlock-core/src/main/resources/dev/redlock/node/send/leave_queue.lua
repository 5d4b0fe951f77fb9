-- Ends the entry of a client that waits no longer. If it was the head or the deputy, the next one is woken; the deputy
-- beside a free lock checks the head first, as in acquire_in_order, unless the head has no channel to wake it. If the
-- server refuses to remove the entry, the next one that is connected is woken as if it were the head.
-- KEYS[1] resource
-- ARGV[1] token, not used   ARGV[2] counter: the key of the queue has the ending :queue   ARGV[3] name of the client
-- reply   1                   the entry is removed
--         0                   there is none, or the server refuses to remove it
local counter, client = ARGV[2], ARGV[3]
--include part_queue
local removed = redis.pcall('ZREM', queue, client)
if type(removed) == 'table' then
  -- The entries of clients that have left before stay, too: a deputy of one of them would wait for it.
  local rank = redis.pcall('ZRANK', queue, client)
  local word = redis.pcall('PTTL', KEYS[1]) == -2 and 'H' or 'h'
  for _, member in ipairs(type(rank) == 'number' and redis.pcall('ZRANGE', queue, rank + 1, rank + 10) or {}) do
    if redis.pcall('PUBLISH', 'redlock:wake:' .. member, word .. KEYS[1]) ~= 0 then
      break
    end
  end
end
if removed ~= 1 then
  return 0
end
local place = waiting[1] == client and 1 or waiting[2] == client and 2
if place then
  table.remove(waiting, place)
  local is_free = redis.pcall('PTTL', KEYS[1]) == -2
  if is_free and place == 2 and waiting[1]:byte() ~= 33 then
    check()
  else
    tell(place, is_free and 'HD' or 'hd')
  end
end
return 1
