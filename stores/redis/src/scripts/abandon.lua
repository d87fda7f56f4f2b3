-- ARGV: attempt.
if record and phase == 1 and string.sub(record, 19, 34) == ARGV[1] then
  redis.call('DEL', key)
end
return {'done'}
