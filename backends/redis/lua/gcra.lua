-- GCRA: core/gcra.go.
-- CELL: a string, "tat part" or "tat part refunded latest": the theoretical
-- arrival time in whole microseconds since the Unix epoch and in limit-ths of
-- one; what was refunded so far to others than the latest charge, in
-- microseconds, and the latest arrival time that such a refund met.
-- STATE q r refunded latest bq br

-- LOAD
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

-- ROLL
@bq, @br = @q, @r
if @q < now then
  @bq, @br = now, 0
elseif @r >= $limit then
  @bq, @br = @q + 1, 0
end

-- DECIDE
local q, r = @bq - now + $costq, @br + $costr
if r >= $limit then q, r = q + 1, r - $limit end
@ok = $cost <= $burst and (q < $fullq or q == $fullq and r <= $fullr)

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
  arrival(@key, q, r, refunded, latest)
end

-- OWE
if $limit > 0 then
  local q, r = @bq + $costq, @br + $costr
  if r >= $limit then q, r = q + 1, r - $limit end
  if q >= 9007199254740991 then q, r = 9007199254740991, 0 end
  local refunded, latest = @refunded, @latest
  if now >= math.max(@q + math.min(@r, 1), latest) then refunded, latest = 0, 0 end
  arrival(@key, q, r, refunded, latest)
end

-- REFUND
-- What of the charge is still to be worked off goes from now to where its work
-- ends: to the arrival time after it, $ra and $rb, less what was refunded since.
-- Where $ra is negative, only if no charge came after it and nothing was refunded.
local ra, since = math.abs($ra), @refunded - $rc
if @raw and $limit > 0 and $rlimit == $limit and since >= 0 then
  local tq, tr = @q, @r
  if tr >= $limit then tq, tr = tq + 1, 0 end
  local oq, part = ra - since - now, $rb
  local last = since == 0 and ra == tq and $rb == tr
  if (last or $ra > 0) and (oq > 0 or oq == 0 and part > 0) then
    if $costq < oq or $costq == oq and $costr < part then oq, part = $costq, $costr end
    local refunded, latest = @refunded, @latest
    if not last then
      refunded = refunded + oq + math.min(part, 1)
      latest = math.max(latest, tq + math.min(tr, 1))
    end
    if refunded <= 9007199254740991 then
      local q, r = tq - oq, tr - part
      if r < 0 then q, r = q - 1, r + $limit end
      if math.max(q + math.min(r, 1), latest) <= now then
        redis.call('DEL', @key)
      else
        arrival(@key, q, r, refunded, latest)
      end
    end
  end
end
