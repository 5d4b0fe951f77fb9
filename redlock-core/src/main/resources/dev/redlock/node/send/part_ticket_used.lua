-- Part of the scripts with a ticket, which have granted the lock: the next ticket has the first place.
if ticket > 0 then
  last, latest = tickets(ticket_key, 0)
  if last and (ticket - 1 - latest) % 32767 <= (last - latest) % 32767 then
    redis.pcall('INCRBY', ticket_key, ticket - 1 - latest)
  end
end
