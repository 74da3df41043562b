-- MovingWindow: core/moving.go.
-- CELL: a list, "stamp total stamp total ...", oldest first: per instant of a
-- charge, in microseconds since the Unix epoch, the sum of all units charged up
-- to and with it. The first entry no longer counts: it is where the sum begins.
-- So the units of a span are one subtraction, and their place a binary search.
-- STATE newest total at first base used stamp

-- DECIDE
@newest, @total = pair(@key, -1, -1)
@raw, @at, @first, @base, @used = false, now, 0, 0, 0
if @newest == false then
  @bad = true
elseif @newest then
  @at = math.max(now, @newest)
  local old = @at - $window
  if @newest > old then
    local c
    @stamp, c = pair(@key, 1)
    @first = 1
    if @stamp and @stamp <= old then
      @first = seek(@key, 1, 1, old)
      @stamp, c = pair(@key, @first)
    end
    local s
    s, @base = pair(@key, @first - 1)
    if s and @stamp and @total >= @base then
      @used = @total - @base
    else
      @bad = true
    end
  end
end
if not @bad then @ok = $cost <= $limit - @used end
if @used > 0 and not @bad then
  -- RETURN the log as far as Decide looks at it: the stamps of the units that
  -- its answers depend on, as "stamp units stamp units ...".
  local places = {1, @used}
  if not @ok then
    local missing = @used + $cost - $limit
    for _, u in ipairs({@used - $limit + 1, missing, missing + 1, missing + $cost}) do
      if u > 1 and u < @used then places[#places + 1] = u end
    end
    table.sort(places)
  end
  local text, before = {}, 0
  for _, u in ipairs(places) do
    if u > before then
      local s = @stamp
      if u == @used then
        s = @newest
      elseif u > 1 then
        s = pair(@key, seek(@key, @first - 1, 2, @base + u - 1))
      end
      if not s then @bad = true break end
      text[#text + 1] = string.format('%d %d', s, u - before)
      before = u
    end
  end
  @raw = table.concat(text, ' ')
end

-- CHARGE
local n = math.min($cost, $limit)
if n > 0 then
  local ends = px(@at + $window)
  if not @newest then
    -- A list can not be made with its time to live in one command. So the server
    -- may first object to both: the one for want of memory, the other forbidden.
    redis.call('RPUSHX', @key, '0')
    redis.call('PEXPIRE', @key, ends)
    redis.call('RPUSH', @key, '0', '0')
  end
  local excess = @used + n - $limit
  local emptied = @used == 0 or excess >= @used
  local total = room(@key, @total or 0, n)
  local base = @base + total - (@total or 0)
  if @newest == @at and not emptied then
    redis.call('LSET', @key, -1, string.format('%d', total + n))
  else
    redis.call('RPUSH', @key, string.format('%d', @at), string.format('%d', total + n))
  end
  if emptied then
    redis.call('LTRIM', @key, -4, -1)
  elseif excess > 0 then
    redis.call('LTRIM', @key, 2 * seek(@key, @first - 1, 2, base + excess) - 2, -1)
    redis.call('LSET', @key, 1, string.format('%d', base + excess))
  elseif @first > 1 then
    redis.call('LTRIM', @key, 2 * @first - 2, -1)
  end
  redis.call('PEXPIRE', @key, ends)
end
