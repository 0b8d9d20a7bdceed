-- Sends the requests of one file in turn, and tells at the end what wrk knows, as one line of JSON.
-- Arguments: method, content type, file with one request a line (a cookie for GET, a body for POST).
local requests, last = {}, 0

function init(args)
  local method, content_type, file = args[1], args[2], args[3]
  for line in io.lines(file) do
    if method == "GET" then
      requests[#requests + 1] = wrk.format("GET", nil, { Host = wrk.headers.Host, Cookie = line })
    else
      local headers = { Host = wrk.headers.Host, ["Content-Type"] = content_type }
      requests[#requests + 1] = wrk.format(method, nil, headers, line)
    end
  end
end

function request()
  last = last % #requests + 1
  return requests[last]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "status": %d, "timeout": %d, "socket": %d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.timeout, errors.connect + errors.read + errors.write))
end
