-- Begins every script: what is kept at KEYS[1], and what time it is by the server's clock.
--
-- A record is a string of 67 bytes and the outcome:
--   1        format: 1. What begins otherwise is not read, and never overwritten.
--   2        phase: 1 leased, 2 kept without an outcome, 3 kept with one
--   3..10    token, 11..18 deadline in microseconds since 1970; both big-endian
--   19..34   attempt
--   35       1 if there is a fingerprint, else 0
--   36..67   fingerprint, zeros if there is none
--   68..     outcome
--
-- Lua's numbers are doubles, which hold whole numbers up to 2^53 exactly. Microseconds since 1970
-- are 1.8e15 now and pass 2^53 = 9.0e15 in the year 2255; ten years more are 3.2e14.
local key = KEYS[1]
local record = redis.call('GET', key)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local phase, token, deadline
if record then
  if #record < 67 or string.byte(record) ~= 1 then
    return {'corrupt'}
  end
  phase, token, deadline = struct.unpack('>BI8I8', record, 2)
  if phase < 1 or phase > 3 then
    return {'corrupt'}
  end
end
local live = record and now < deadline
