-- Takes the lock if nobody holds it, and counts the grant.
-- KEYS[1] resource   KEYS[2] counter
-- ARGV[1] token   ARGV[2] ttl in ms   ARGV[3] expiry of the counter in ms
-- ARGV[4] floor: a lower counter may have lost counts, and continues from there
-- reply   v > 0               granted: the counter is v now; a counter that was missing starts at
--                             (seconds since the epoch) * 2^20, so that a lost counter jumps forward
--         -n, n >= 0          refused: another key exists for n ms more
--         -9007199254740991   refused: another key exists and never expires
--         error               the counter is not a count, or it is 2^53 - 1: Lua's numbers are exact up to there
--                             only, and a number that is not exact is handed out to nobody
-- The counter comes first: where it cannot be counted, the error leaves no lock behind. It is counted before it is
-- looked at, because a look costs as much as the count: 1 means that it was missing, or stood at 0, which no counter of
-- this script does. No pcall: it costs the server a microsecond.
if redis.call('EXISTS', KEYS[1]) == 1 then
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl == -1 then
    return -9007199254740991
  end
  if ttl < 0 then
    return 0
  end
  return -ttl
end
--include part_count_grant
return value
