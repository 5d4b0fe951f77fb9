-- Takes the lock for a writer if nobody holds it. If readers do, the writer leaves its reservation: new readers are
-- refused until it expires.
-- KEYS[1] resource, as in acquire_read
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] name of the reservation; empty for none
-- reply   1                   granted: the key now has the token and expires after ttl; all reservations end
--         -n, n >= 0          refused: the key of a writer, or the last entry of a reader, expires in n ms
--         -9007199254740991   refused: a key exists that never expires
-- The reservation is written only if less than half of its time is left: each write wakes the waiters of all clients.
-- It ends the registration of this connection, so the last command reads, which registers for the next push.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
local reservation = ARGV[3]
--include part_readers_pruned
--include part_writer_refused
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
