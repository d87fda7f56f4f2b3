-- No ARGV.
if record then
  redis.call('DEL', key)
end
return {'done', live and 1 or 0}
