-- What wrk sends: writes, each with a key of its own or with one of so many that come back.
-- Arguments: the beginning of the keys, the path, how many keys there are (0: no end of them).

local prefix, distinct, head, tail
local number = 0

function init(args)
  prefix = args[1]
  distinct = tonumber(args[3])
  local body = '{"item":"book","count":1}'
  head = "POST " .. args[2] .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"]
    .. "\r\nUser-Agent: wrk\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: "
    .. #body .. "\r\nIdempotency-Key: " .. prefix
  tail = "\r\n\r\n" .. body
end

function request()
  number = number + 1
  local key = number
  if distinct > 0 then
    key = number % distinct
  end
  return head .. string.format("%016x", key) .. tail
end

function done(summary)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("found %d %d %d %d\n", summary.requests, summary.duration,
    errors.status, broken))
end
