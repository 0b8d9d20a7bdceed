-- Sends requests of a file in turn, one a line: method, path and body, parted by tabs. Arguments: token, file.
-- %n in a body or path becomes a number that is new every time.
local lines, last, number, token = {}, 0, 0, ""

function init(args)
  token = args[1]
  for line in io.lines(args[2]) do
    local method, path, body = line:match("^(%S+)\t(%S+)\t(.*)$")
    lines[#lines + 1] = { method, path, body }
  end
  math.randomseed(os.time())
  number = math.random(1, 1000000) * 1000000
end

function request()
  last = last % #lines + 1
  number = number + 1
  local method, path, body = lines[last][1], lines[last][2], lines[last][3]
  local headers = { Host = "localhost", Authorization = "Bearer " .. token, ["Content-Type"] = "application/json" }
  local unique = string.format("%.0f", number)
  if body == "" then body = nil else body = body:gsub("%%n", unique) end
  return wrk.format(method, path, headers, body)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "status": %d, "timeout": %d, "socket": %d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.timeout, errors.connect + errors.read + errors.write))
end
