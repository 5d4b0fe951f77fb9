-- Takes every key of a set if all are free, or none. A client that waits leaves its reservation beside the keys, which
-- refuses other clients that wait or give way, for 300 ms.
-- KEYS[i] resource
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] name of the client's reservation; ? to leave none, but to respect those
--         of others; empty to ignore them too   ARGV[3 + i] ticket of the client for KEYS[i], 0 without one; no such
--         argument for a client that gets none
-- reply   1                   granted: each key has the token and expires after ttl; the client's reservation ends
--         -(n * 2^22 + ticket * 2^12 + i * 2^5 + place)
--                             refused: the last of the keys in use, or another client's reservation, expires in n ms;
--                             24 days or never if n is 2^31 - 1. i is the number of the first key that exists, or with
--                             a reservation if none exists. The ticket orders the clients that wait for that key: it
--                             is 1 to 1023, 0 for none; place - 1 clients precede, place is 31 at most, 1 for a ticket
--                             that has passed or with the client's reservation on the key, and 0 without a ticket
-- The tickets of a resource are a key of its own too.
local n = #KEYS
local reservation = ARGV[3]
local tickets_from = 3
--include part_tickets
--include part_set_refused
--include part_set_taken
return 1
