-- FixedWindow: core/fixed.go.
-- CELL: a string, "end used": the end of the window in microseconds since the
-- Unix epoch, and the units used in it.
-- STATE e u

-- LOAD
@raw = get(@key)
if @raw == false then
  @e, @u = 0, 0
else
  local e, u = string.match(@raw or '', '^(%d+) (%d+)$')
  @e, @u = tonumber(e), tonumber(u)
  @bad = not (@e and @e <= 9007199254740991 and @u <= 9007199254740991)
end

-- ROLL
if now >= @e then @e, @u = $boundary, 0 end

-- DECIDE
@ok = $cost <= $limit - @u

-- CHARGE
local n = math.min($cost, $limit - @u)
if n > 0 then
  redis.call('SET', @key, string.format('%d %d', @e, @u + n), 'PX', px(@e))
end

-- OWE
redis.call('SET', @key, string.format('%d %d', @e, @u + owed(@u, $delta)), 'PX', px(@e))

-- REFUND
if $ra == @e and @u > 0 then
  local e, u = @e, math.max(0, @u + $delta)
  if u == 0 then
    redis.call('DEL', @key)
  else
    if $rb == -$delta and now < e then e = math.max(e, now + $window) end
    redis.call('SET', @key, string.format('%d %d', e, u), 'PX', px(e))
  end
end
