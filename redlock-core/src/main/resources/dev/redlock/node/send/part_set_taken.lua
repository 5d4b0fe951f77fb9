-- Part of the scripts of sets: takes the n keys, which are free, and ends what the client has left there.
for i = 1, n do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  if own[i] then
    redis.pcall('DEL', KEYS[i] .. ':redlock:reservation')
  end
  local ticket = tonumber(ARGV[tickets_from + i] or 0)
  local last, latest
  if ticket > 0 then
    last, latest = tickets(KEYS[i] .. ':redlock:reservation:tickets', 0)
  end
  if last and (ticket - 1 - latest) % 1023 <= (last - latest) % 1023 then
    redis.pcall('INCRBY', KEYS[i] .. ':redlock:reservation:tickets', ticket - 1 - latest)
  end
end
