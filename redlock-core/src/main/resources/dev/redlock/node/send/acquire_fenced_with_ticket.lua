-- Takes the lock if nobody holds it, and counts the grant. A refused client gets a ticket, and its place with each
-- refusal: the order in which the waiting clients try after the release.
-- KEYS[1] resource   KEYS[2] counter
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] expiry of the counter in ms   ARGV[4] floor, as in
--         acquire_fenced   ARGV[5] ticket of the client. A client without a ticket gives 0, or -1 if it yields: it takes the lock only if no other client has one.
--         The key of the tickets is the counter's with the ending :tickets.
-- reply   v > 0               granted: the counter is v now, as in acquire_fenced
--         -(n * 2^20 + ticket * 2^5 + place)
--                             refused: another key exists for n ms more, 49 days or more if n is 2^32 - 1,
--                             and 0 if the client yields;
--                             the ticket is 1 to 32767, 0 for none; place - 1 clients precede, place is 31 at most,
--                             and 0 for a ticket that has passed
--         error               as in acquire_fenced
--include part_tickets
local ticket_key = KEYS[2] .. ':tickets'
local ticket = tonumber(ARGV[5])
local last, latest
if ticket < 0 then
  last, latest = tickets(ticket_key, 0)
end
local yields = last and (last - latest) % 32767 > 0
if yields or redis.call('EXISTS', KEYS[1]) == 1 then
--include part_ticket_refused
end
--include part_count_grant
--include part_ticket_used
return value
