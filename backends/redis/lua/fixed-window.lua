-- FixedWindow: core/fixed.go.
-- CELL: a string, "end used": the end of the window in microseconds since the
-- Unix epoch, and the units used in it.
-- STATE e u

-- DECIDE
@raw = get(@key)
if @raw == false then
  @e, @u = 0, 0
else
  local e, u = string.match(@raw or '', '^(%d+) (%d+)$')
  @e, @u = tonumber(e), tonumber(u)
  @bad = not (@e and @e <= 9007199254740991 and @u <= 9007199254740991)
end
if not @bad then
  if now >= @e then @e, @u = $boundary, 0 end
  @ok = $cost <= $limit - @u
end

-- CHARGE
local n = math.min($cost, $limit - @u)
if n > 0 then
  redis.call('SET', @key, string.format('%d %d', @e, @u + n), 'PX', px(@e))
end
