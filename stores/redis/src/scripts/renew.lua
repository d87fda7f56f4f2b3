-- ARGV: token, lease ttl and late grace in microseconds.
if not record or phase ~= 1 or token ~= tonumber(ARGV[1]) then
  return {'superseded'}
end
deadline = now + ARGV[2]
local ends = math.ceil((deadline + ARGV[3]) / 1000)
-- First the expiry, which may be set when the server is out of memory. A script that has written
-- may go on writing, and the record does not grow.
redis.call('PEXPIREAT', key, ends)
local renewed = struct.pack('>BBI8I8', 1, 1, token, deadline) .. string.sub(record, 19, 67)
redis.call('SET', key, renewed, 'PXAT', ends)
return {'done', deadline - now}
