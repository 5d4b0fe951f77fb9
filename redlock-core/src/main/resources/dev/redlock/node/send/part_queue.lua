-- Part of the scripts with a queue: the clients that wait for KEYS[1], in a sorted set beside the counter. The members
-- are their names, the scores are the server's time in us less the time that each has waited. The first one is the
-- head, the second one its deputy.
-- The key is not in KEYS, because a server before Redis 7.2 registers all of KEYS for a push. pcall: a missing right, a
-- foreign key or a cluster with the key elsewhere costs the order only, and an error after the grant would leave a lock
-- behind that nobody releases.
local queue = counter .. ':queue'
local silent = counter .. ':silent'
local waiting, is_cut
local rounds = 4

local function read_queue()
  waiting = redis.pcall('ZRANGE', queue, 0, 9)
  is_cut = #waiting == 10
end

-- Removes the entry of a place. If that fails, there is no order: an entry that stays would block the lock for ever.
local function drop(place)
  if redis.pcall('ZREM', queue, table.remove(waiting, place)) ~= 1 then
    waiting = {}
  elseif is_cut and #waiting < 2 and rounds > 0 then
    rounds = rounds - 1
    read_queue()
  end
end

-- Publishes its place to the head, h, and to the deputy, d; in capitals if the lock is free. An entry whose client has
-- no connection is dropped. An error is not 0. A name with ! has no channel: its client waits for the push of the
-- release.
local function tell(place, words)
  while place < 3 and waiting[place] do
    local member = waiting[place]
    local message = words:sub(place, place) .. KEYS[1]
    if member ~= client and member:byte() ~= 33 and redis.pcall('PUBLISH', 'redlock:wake:' .. member, message) == 0 then
      drop(place)
    else
      place = place + 1
    end
  end
end

-- The entry of the head, and so the name of a note: a client that was granted the lock and waits again has another
-- score.
local function head()
  return table.concat(redis.pcall('ZRANGE', queue, 0, 0, 'WITHSCORES'), ' ')
end

-- Wakes the head, which is another client, beside a free lock, and notes it as silent for 10 s. The next check drops it
-- if the note is 40 ms old. A head that enters ends the note, and so does the drop. A client that enters after a drop
-- is alive and slow: it gets 400 ms. If that is not enough, it gets 40 ms again for the next 10 s.
local function check()
  local noted = redis.pcall('GET', silent)
  if noted == head() then
    local slow = counter .. ':slow:' .. waiting[1]
    local left = redis.call('PTTL', silent)
    if left <= 9600 then
      redis.pcall('SET', slow, 0, 'XX', 'PX', 10000)
    end
    if left <= 9960 and redis.pcall('GET', slow) ~= '1' then
      redis.pcall('DEL', silent)
      drop(1)
    end
  end
  tell(1, 'HD')
  local first = head()
  if waiting[1] and waiting[1] ~= client and first ~= noted then
    redis.pcall('SET', silent, first, 'PX', 10000)
  end
end

read_queue()
