-- BucketedWindow: core/buckets.go.
-- CELL: a string, "end units units ...": the end of the newest sub-window in
-- microseconds since the Unix epoch, its units, those of the one before, and so
-- on for all that are summed.
-- STATE w e live

-- DECIDE
@raw = get(@key)
@w = words(@raw, $counters + 1)
@bad = not @w
if not @bad then
  local used = 0
  @e, @live = tonumber(@w[1]), $counters
  if now >= @e then
    @live = math.max(0, $counters - math.floor((now - @e) / $precision) - 1)
  end
  for k = 2, @live + 1 do used = used + tonumber(@w[k]) end
  @ok = $cost <= $limit - used
end

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
