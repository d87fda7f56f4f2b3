-- ARGV: token, outcome.
if not live or token ~= tonumber(ARGV[1]) or phase ~= 2 then
  return {'too late'}
end
local kept = '\1\3' .. string.sub(record, 3, 67) .. ARGV[2]
local answer = redis.pcall('SET', key, kept, 'PXAT', math.ceil(deadline / 1000))
if answer.err then
  if not string.find(answer.err, 'OOM', 1, true) then
    return answer
  end
  return {'no room'}
end
return {'done'}
