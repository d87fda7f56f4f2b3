-- No ARGV.
if not live then
  return {'free'}
end
if phase == 1 then
  return {'in flight', deadline - now}
end
return {'completed', deadline - now, phase == 3 and 1 or 0}
