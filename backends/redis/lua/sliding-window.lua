-- SlidingWindow: core/sliding.go.
-- CELL: a string, "end current previous": the end of the current window in
-- microseconds since the Unix epoch, its units, and those of the one before.
-- STATE e c p

-- LOAD
@raw = get(@key)
if @raw == false then
  @e, @c, @p = 0, 0, 0
else
  local e, c, p = string.match(@raw or '', '^(%d+) (%d+) (%d+)$')
  @e, @c, @p = tonumber(e), tonumber(c), tonumber(p)
  @bad = not (@e and @e <= 9007199254740991 and @c <= 9007199254740991 and @p <= 9007199254740991)
end

-- ROLL
if now >= @e then
  if @e > 0 and now < @e + $window then
    @e, @c, @p = @e + $window, 0, @c
  else
    @e, @c, @p = $boundary, 0, 0
  end
end

-- DECIDE
-- floor(p * rest / window) <= room
local room = $limit - $cost - @c
@ok = room >= 0 and (@p == 0 or less(@p, math.min(@e - now, $window), room + 1, $window))

-- CHARGE
local n = math.min($cost, $limit - @c)
if n > 0 then
  local c = @c + n
  redis.call('SET', @key, string.format('%d %d %d', @e, c, @p),
    'PX', px(@e + $window - math.floor(($window - 1) / c)))
end

-- OWE
local c = @c + owed(@c, $delta)
redis.call('SET', @key, string.format('%d %d %d', @e, c, @p),
  'PX', px(@e + $window - math.floor(($window - 1) / c)))

-- REFUND
local c, p = @c, @p
if $ra == @e then
  c = math.max(0, c + $delta)
elseif $ra == @e - $window then
  p = math.max(0, p + $delta)
end
if c == @c and p == @p then
  -- it has left the state
elseif c + p == 0 then
  redis.call('DEL', @key)
else
  local rest = math.floor(($window - 1) / (c > 0 and c or p))
  redis.call('SET', @key, string.format('%d %d %d', @e, c, p),
    'PX', px(@e + (c > 0 and $window or 0) - rest))
end
