-- BucketedWindow: core/buckets.go.
-- CELL: a string, "end units units ...": the end of the newest sub-window in
-- microseconds since the Unix epoch, its units, those of the one before, and so
-- on for all that are summed.
-- STATE w e live

-- LOAD
@raw = get(@key)
@w = words(@raw, $counters + 1)
@bad = not @w
if not @bad then @e = tonumber(@w[1]) end

-- ROLL
@live = $counters
if now >= @e then
  @live = math.max(0, $counters - math.floor((now - @e) / $precision) - 1)
end

-- DECIDE
local used = 0
for k = 2, @live + 1 do used = used + tonumber(@w[k]) end
@ok = $cost <= $limit - used

-- CHARGE
local age, newest, e = $counters - @live, 0, @e
if age == 0 then newest = tonumber(@w[2]) end
local n = math.min($cost, $limit - newest)
if n > 0 then
  if @live == 0 or e == 0 then e = $boundary else e = e + age * $precision end
  local w = {string.format('%d', e)}
  for k = 1, $counters do w[k + 1] = k > age and @w[k + 1 - age] or '0' end
  w[2] = string.format('%d', newest + n)
  redis.call('SET', @key, table.concat(w, ' '), 'PX', px(e + ($counters - 1) * $precision))
end

-- OWE
local age, used, e = $counters - @live, 0, @e
if @live == 0 or e == 0 then e = $boundary else e = e + age * $precision end
local w = {string.format('%d', e)}
for k = 1, $counters do
  w[k + 1] = k > age and @w[k + 1 - age] or '0'
  used = used + tonumber(w[k + 1])
end
w[2] = string.format('%d', tonumber(w[2]) + owed(used, $delta))
redis.call('SET', @key, table.concat(w, ' '), 'PX', px(e + ($counters - 1) * $precision))

-- REFUND
local k = (@e - $ra) / $precision
local had = k >= 0 and k < $counters and k % 1 == 0 and tonumber(@w[k + 2]) or 0
if had > 0 then
  @w[k + 2] = string.format('%d', math.max(0, had + $delta))
  local newest = 0
  while newest < $counters and @w[newest + 2] == '0' do newest = newest + 1 end
  if newest == $counters then
    redis.call('DEL', @key)
  else
    redis.call('SET', @key, table.concat(@w, ' '),
      'PX', px(@e + ($counters - 1 - newest) * $precision))
  end
end
