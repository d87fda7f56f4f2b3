-- ARGV: token, ttl in microseconds, phase (2 or 3), outcome or nothing.
if not record or token ~= tonumber(ARGV[1]) then
  return {'superseded'}
end
if phase ~= 1 then
  if not live then
    return {'superseded'}
  end
  -- Kept by this token already: a repetition. Who waits for replicas waits for what his own
  -- connection has written: so it writes, though nothing that changes anything.
  redis.call('PEXPIREAT', key, math.ceil(deadline / 1000))
  return {'done'}
end
deadline = now + ARGV[2]
local ends = math.ceil(deadline / 1000)
local rest = string.sub(record, 19, 67)
local kept = struct.pack('>BBI8I8', 1, tonumber(ARGV[3]), token, deadline) .. rest .. ARGV[4]
local answer = redis.pcall('SET', key, kept, 'PXAT', ends)
if answer.err then
  if not string.find(answer.err, 'OOM', 1, true) then
    return answer
  end
  -- The server is out of memory, but the work was done. A script that has written may go on
  -- writing, and an expiry may always be set; without its outcome the record does not grow.
  redis.call('PEXPIREAT', key, ends)
  kept = struct.pack('>BBI8I8', 1, 2, token, deadline) .. rest
  redis.call('SET', key, kept, 'PXAT', ends)
end
return {'done'}
