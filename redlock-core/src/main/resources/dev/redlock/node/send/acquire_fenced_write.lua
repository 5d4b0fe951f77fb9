-- Takes the lock for a writer as acquire_write does, and counts the grant as acquire_fenced does.
-- KEYS[1] resource, as in acquire_read   KEYS[2] counter
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] expiry of the counter in ms
-- ARGV[4] floor, as in acquire_fenced   ARGV[5] name of the reservation; empty for none
-- reply   v > 0               granted: the counter is v now; a missing counter starts at
--                             (seconds since the epoch) * 2^20
--         -n, n >= 0          refused: the key of a writer, or the last entry of a reader, expires in n ms
--         -9007199254740991   refused: a key exists that never expires
--         error               the counter is not a count, or it has reached 2^53 - 1; it leaves no lock behind
local reservation = ARGV[5]
--include part_readers_pruned
--include part_writer_refused
--include part_count_grant
return value
