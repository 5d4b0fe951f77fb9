-- Part of the scripts that count the grant of one lock.
local value = redis.call('INCR', KEYS[2])
local floor = tonumber(ARGV[4])
if value == 1 or value > 0 and value < floor then
  value = math.max(floor, value == 1 and tonumber(redis.call('TIME')[1]) * 1048576 or 0)
  if value > 9007199254740991 then
    redis.call('DEL', KEYS[2])
    return redis.error_reply('FENCE the clock is past March 2242, where counters end')
  end
  redis.call('SET', KEYS[2], string.format('%.0f', value), 'PX', ARGV[3])
elseif value < 1 or value > 9007199254740991 then
  redis.call('DECR', KEYS[2])
  return redis.error_reply('FENCE the counter is not a count, or it has reached its end')
else
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
