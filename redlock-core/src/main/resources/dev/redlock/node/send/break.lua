-- Frees a lock by its value, for people. It also changes the traces: a client that retains the lock learns of it.
-- KEYS[1] resource   KEYS[2] traces; absent if no client can retain the lock
-- ARGV[1] the value, hexadecimal
-- reply   1   deleted
--         0   another value, a key of another type, or none
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and not value.err:find('WRONGTYPE') then
  return value
end
if value ~= ARGV[1]:gsub('..', function(digits) return string.char(tonumber(digits, 16)) end) then
  return 0
end
redis.call('DEL', KEYS[1])
if KEYS[2] then
  redis.pcall('PEXPIRE', KEYS[2], 60000)
end
return 1
