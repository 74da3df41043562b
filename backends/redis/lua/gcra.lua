-- GCRA: core/gcra.go.
-- CELL: a string, "tat part" or "tat part refunded latest": the theoretical
-- arrival time in whole microseconds since the Unix epoch and in limit-ths of
-- one; what was refunded so far to others than the latest charge, in
-- microseconds, and the latest arrival time that such a refund met.
-- STATE q r refunded latest bq br

-- DECIDE
@raw = get(@key)
if @raw == false then
  @q, @r, @refunded, @latest = 0, 0, 0, 0
else
  local q, r, refunded, latest = string.match(@raw or '', '^(%d+) (%d+)$')
  if not q then
    q, r, refunded, latest = string.match(@raw or '', '^(%d+) (%d+) (%d+) (%d+)$')
  end
  @q, @r, @refunded, @latest = tonumber(q), tonumber(r), tonumber(refunded) or 0, tonumber(latest) or 0
  @bad = not (@q and math.max(@q, @r, @refunded, @latest) <= 9007199254740991)
end
if not @bad then
  @bq, @br = @q, @r
  if @q < now then
    @bq, @br = now, 0
  elseif @r >= $limit then
    @bq, @br = @q + 1, 0
  end
  local q, r = @bq - now + $costq, @br + $costr
  if r >= $limit then q, r = q + 1, r - $limit end
  @ok = $cost <= $burst and (q < $fullq or q == $fullq and r <= $fullr)
end

-- CHARGE
if $cost > 0 then
  local q, r = @bq + $costq, @br + $costr
  if r >= $limit then q, r = q + 1, r - $limit end
  local fq, fr = now + $fullq, $fullr
  if $cost > $burst or fq < q or fq == q and fr < r then
    q, r = fq, fr
    if q < @bq or q == @bq and r < @br then q, r = @bq, @br end
  end
  local refunded, latest = @refunded, @latest
  if now >= math.max(@q + math.min(@r, 1), latest) then refunded, latest = 0, 0 end
  local ends = px(math.max(q + math.min(r, 1), latest))
  if refunded + latest == 0 then
    redis.call('SET', @key, string.format('%d %d', q, r), 'PX', ends)
  else
    redis.call('SET', @key, string.format('%d %d %d %d', q, r, refunded, latest), 'PX', ends)
  end
end
