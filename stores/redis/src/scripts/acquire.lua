-- ARGV: attempt, fingerprint or nothing, lease ttl and late grace in microseconds.
local attempt, fingerprint = ARGV[1], ARGV[2]
if live then
  if phase == 1 and string.sub(record, 19, 34) == attempt then
    -- The reply to this attempt was lost, and it asks again. Who waits for replicas waits for what
    -- his own connection has written: so it writes, though nothing that changes anything.
    redis.call('PEXPIREAT', key, math.ceil((deadline + ARGV[4]) / 1000))
    return {'granted', token, deadline - now}
  end
  if fingerprint ~= '' and string.byte(record, 35) == 1
    and string.sub(record, 36, 67) ~= fingerprint then
    return {'mismatch'}
  end
  if phase == 1 then
    return {'in flight', deadline - now}
  end
  if phase == 3 then
    return {'completed', deadline - now, string.sub(record, 68)}
  end
  return {'completed', deadline - now}
end
-- What remembers the tokens of a record that is gone is the clock: a later grant comes later.
if not record or token < now then
  token = now
else
  token = token + 1
end
deadline = now + ARGV[3]
local ends = math.ceil((deadline + ARGV[4]) / 1000)
if record then
  -- First the expiry, which may be set when the server is out of memory. A script that has written
  -- may go on writing, and the record does not grow: a key that is there is never full.
  redis.call('PEXPIREAT', key, ends)
end
if fingerprint == '' then
  fingerprint = string.rep('\0', 33)
else
  fingerprint = '\1' .. fingerprint
end
local granted = struct.pack('>BBI8I8', 1, 1, token, deadline) .. attempt .. fingerprint
redis.call('SET', key, granted, 'PXAT', ends)
return {'granted', token, deadline - now}
