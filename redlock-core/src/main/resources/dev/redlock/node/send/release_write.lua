-- Releases the lock of a writer, or removes its reservation.
-- KEYS[1] resource, as in acquire_read
-- ARGV[1] token of the lock, or name of the reservation
-- reply   1   the lock was ours and is deleted
--         -1  a reservation of this name is removed
--         0   nothing has changed
-- MGET finds nothing in a sorted set, where GET is an error.
if redis.call('MGET', KEYS[1])[1] == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return redis.pcall('ZREM', KEYS[1], ARGV[1]) == 1 and -1 or 0
