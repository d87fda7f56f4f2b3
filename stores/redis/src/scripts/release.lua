-- ARGV: token.
if record and phase == 1 and token == tonumber(ARGV[1]) then
  redis.call('DEL', key)
  return {'done'}
end
-- Another's lease, running or late; or what is kept, by this token or another.
if record and (phase == 1 or live) then
  return {'superseded'}
end
return {'done'}
