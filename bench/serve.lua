-- What wrk sends: one of the prepared bodies, each request with a key of its own; then what it measured, as JSON.
local thread_count = 0
function setup(thread) thread:set("number", thread_count); thread_count = thread_count + 1 end

function init(arguments)
  bodies, kind = {}, arguments[2]
  for line in io.lines(arguments[1]) do bodies[#bodies + 1] = line end
  sent = 0
  -- Keys of two wrk at once differ by what the caller gives each of them.
  start = (arguments[3] or "") .. tostring(math.floor(wrk.time_us and wrk.time_us() or os.time()))
end

function request()
  sent = sent + 1
  local headers = { ["Content-Type"] = "application/json", ["Idempotency-Key"] = start .. "-" .. number .. "-" .. sent }
  local body = bodies[(sent + number * 7919) % #bodies + 1]
  if kind == "path" then -- a line is METHOD PATH BODY
    local method, path, text = body:match("^(%S+) (%S+) (.*)$")
    return wrk.format(method, path, headers, text)
  end
  return wrk.format("POST", wrk.path, headers, body)
end

function done(summary, latency, requests)
  local good = summary.requests - summary.errors.status
  print(string.format('{"requests":%d,"good":%d,"seconds":%.3f,"p50":%.3f,"p99":%.3f,"p999":%.3f,"errors":%d}',
    summary.requests, good, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency:percentile(99.9) / 1e3,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout + summary.errors.status))
end
