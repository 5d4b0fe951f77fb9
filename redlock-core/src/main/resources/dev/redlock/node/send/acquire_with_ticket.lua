-- Takes the lock if nobody holds it. A refused client gets a ticket, and its place with each
-- refusal: the order in which the waiting clients try after the release.
-- KEYS[1] resource
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] ticket of the client   ARGV[4] counter
--         A client without a ticket gives 0, or -1 if it yields: it takes the lock only if no other client has one.
--         The key of the tickets is the counter's with the ending :tickets.
-- reply   1                   granted: the key now holds the token and expires after ttl
--         -(n * 2^20 + ticket * 2^5 + place)
--                             refused: another key exists for n ms more, 49 days or more if n is 2^32 - 1,
--                             and 0 if the client yields;
--                             the ticket is 1 to 32767, 0 for none; place - 1 clients precede, place is 31 at most,
--                             and 0 for a ticket that has passed
--include part_tickets
local ticket_key = ARGV[4] .. ':tickets'
local ticket = tonumber(ARGV[3])
local last, latest
if ticket < 0 then
  last, latest = tickets(ticket_key, 0)
end
local yields = last and (last - latest) % 32767 > 0
if yields or not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
--include part_ticket_refused
end
--include part_ticket_used
return 1
