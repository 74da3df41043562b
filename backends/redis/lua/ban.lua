-- A ban: core/ban.go.
-- CELL: a string, "since strikes until row": the begin of the window of strikes
-- in microseconds since the Unix epoch, the strikes in it, the end of the latest
-- ban, and how many bans there were in a row.
-- STATE since strikes ends row

-- LOAD
@raw = get(@key)
if @raw == false then
  @since, @strikes, @ends, @row = 0, 0, 0, 0
else
  local a, b, c, d = string.match(@raw or '', '^(%d+) (%d+) (%d+) (%d+)$')
  @since, @strikes, @ends, @row = tonumber(a), tonumber(b), tonumber(c), tonumber(d)
  @bad = not (@since and math.max(@since, @strikes, @ends, @row) <= 9007199254740991)
end

-- ROLL

-- DECIDE
@ok = now >= @ends

-- CHARGE
strike(@key, $cost, @since, @strikes, @ends, @row, $limit, $window, $banfirst, $banlongest, $banforgive)

-- OWE
strike(@key, $delta, @since, @strikes, @ends, @row, $limit, $window, $banfirst, $banlongest, $banforgive)

-- REFUND
-- A strike can not be taken back.
