-- MovingWindow: core/moving.go.
-- CELL: a list, "stamp total stamp total ...", oldest first: per instant of a
-- charge, in microseconds since the Unix epoch, the sum of all units charged up
-- to and with it. The first entry no longer counts: it is where the sum begins.
-- So the units of a span are one subtraction, and their place a binary search.
-- STATE newest total at first base used stamp

-- LOAD
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

-- ROLL

-- DECIDE
@ok = $cost <= $limit - @used
if @used > 0 then
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
  if not @newest then begin(@key, ends) end
  local excess = @used + n - $limit
  local emptied = @used == 0 or excess >= @used
  local total = room(@key, @total or 0, n)
  local base = @base + (total - (@total or 0)) -- two sums may pass 2^53
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

-- OWE
local n = owed(@used, $delta)
local ends = px(@at + $window)
if not @newest then begin(@key, ends) end
if @used == 0 then
  if @newest then redis.call('LTRIM', @key, -2, -1) end
  redis.call('LSET', @key, 1, '0') -- nothing counts: the sum begins again
  redis.call('RPUSH', @key, string.format('%d', @at), string.format('%d', n))
else
  local total = string.format('%d', room(@key, @total, n) + n)
  if @newest == @at or redis.call('LLEN', @key) / 2 - @first >= $limit then
    redis.call('LSET', @key, -2, string.format('%d', @at))
    redis.call('LSET', @key, -1, total)
  elseif n > 0 then
    redis.call('RPUSH', @key, string.format('%d', @at), total)
  end
  if @first > 1 then redis.call('LTRIM', @key, 2 * @first - 2, -1) end
end
redis.call('PEXPIRE', @key, ends)

-- REFUND
local entry = @newest and seek(@key, 0, 1, $ra - 1)
local stamp, total = nil, nil
if entry then stamp, total = pair(@key, entry) end
if stamp == $ra then
  -- All sums from this entry on get smaller: they are written anew.
  local _, before = pair(@key, entry - 1)
  local log = redis.call('LRANGE', @key, 2 * entry, -1)
  local n = before and math.min(total - before, -$delta)
  for k = 2, #log, 2 do
    local c = tonumber(log[k])
    if not (n and c and c % 1 == 0 and c >= total and tonumber(log[k - 1])) then @bad = true break end
    log[k] = string.format('%d', c - n)
  end
  if not @bad then
    local from = 1
    if before + n == total then from = 3 end
    redis.call('LTRIM', @key, 0, 2 * entry - 1)
    for k = from, #log, 1000 do
      redis.call('RPUSH', @key, unpack(log, k, math.min(k + 999, #log)))
    end
    if entry == 1 and from > #log then
      redis.call('DEL', @key)
    else
      redis.call('PEXPIRE', @key, px(tonumber(redis.call('LINDEX', @key, -2)) + $window))
    end
  end
end
