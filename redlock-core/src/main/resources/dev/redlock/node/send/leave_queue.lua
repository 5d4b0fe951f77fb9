-- Ends the entry of a client that waits no longer. If it was the head or the deputy, the next one is woken; the deputy
-- beside a free lock checks the head first, as in acquire_in_order, unless the head has no channel to wake it.
-- KEYS[1] resource
-- ARGV[1] token, not used   ARGV[2] counter: the key of the queue has the ending :queue   ARGV[3] name of the client
-- reply   1                   the entry is removed
--         0                   there is none
local counter, client = ARGV[2], ARGV[3]
--include part_queue
if redis.pcall('ZREM', queue, client) ~= 1 then
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
