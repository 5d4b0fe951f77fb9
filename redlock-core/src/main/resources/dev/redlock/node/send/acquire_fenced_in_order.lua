-- Takes the lock if nobody holds it, and no other client waits in front of this one, and counts the grant. A refused
-- client enters the queue of the waiting clients. A grant ends its entry, and wakes the next two.
-- KEYS[1] resource   KEYS[2] counter: the key of the queue has the ending :queue
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] expiry of the counter in ms   ARGV[4] floor, as in
--         acquire_fenced   ARGV[5] name of the client   ARGV[6] time that it has waited, in us   ARGV[7] f, e, c or p,
--         as in acquire_in_order
-- reply   v > 0               granted: the counter is v now, as in acquire_fenced
--         -(n * 2^20 + place + 1)
--                             refused, as in acquire_in_order
--         error               as in acquire_fenced and acquire_in_order
local counter, client, waited, mode = KEYS[2], ARGV[5], ARGV[6], ARGV[7]
--include part_queue
if mode == 'c' and waiting[1] and waiting[1] ~= client and redis.call('PTTL', KEYS[1]) == -2 then
  check()
end
local first = waiting[1]
if mode ~= 'p' and first and first ~= client or redis.call('EXISTS', KEYS[1]) == 1 then
--include part_queue_refused
end
--include part_count_grant
if first == client then
  drop(1)
  tell(1, 'hd')
end
return value
