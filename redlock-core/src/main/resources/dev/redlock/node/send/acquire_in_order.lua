-- Takes the lock if nobody holds it, and no other client waits in front of this one. A refused client enters the queue
-- of the waiting clients. A grant ends its entry, and wakes the next two.
-- KEYS[1] resource
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] counter: the key of the queue has the ending :queue
-- ARGV[4] name of the client   ARGV[5] time that it has waited, in us
-- ARGV[6] f if it starts to wait: its entry gets the new score; e if it waits: the entry keeps the lesser score;
--         c as e, and if the lock is free, the script first wakes the head, or drops it if a check at least 40 ms ago
--         has woken it and it has not entered since: 400 ms ago for a client that came back after that; p if its turn
--         is not over: it gets a free lock though others wait
-- reply   1                   granted: the key now holds the token and expires after ttl
--         2                   the same, and other clients wait
--         -(n * 2^20 + place + 1)
--                             refused: another key exists for n ms more, 49 days or more if n is 2^32 - 1, and 0 if
--                             the lock is free; place clients precede, 2^20 - 2 or more if it is 2^20 - 2, or an
--                             unknown number without a queue
--         error               the server refuses the write; also if others wait, and the client cannot enter the queue
local counter, client, waited, mode = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
--include part_queue
if mode == 'c' and waiting[1] and waiting[1] ~= client and redis.call('PTTL', KEYS[1]) == -2 then
  check()
end
local first = waiting[1]
if mode ~= 'p' and first and first ~= client or not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
--include part_queue_refused
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
if first == client then
  drop(1)
  tell(1, 'hd')
end
return waiting[1] and 2 or 1
