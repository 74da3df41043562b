-- Functions that the fragments call. A program has those that it needs.
--
-- Numbers are integers below 2^53. Numbers become text by string.format('%d')
-- only: tostring, .. and table.concat would round them to 14 digits.

-- FUNCTION get
-- get is the string at a key, false where there is none, nil where there is
-- something else.
local function get(key)
  local v = redis.pcall('GET', key)
  if type(v) ~= 'table' then return v end
  if string.find(v.err, 'WRONGTYPE', 1, true) then return nil end
  return redis.call('GET', key) -- fails again, now for all to see
end

-- FUNCTION px
-- px is the time to live in milliseconds that reaches past an instant.
local function px(instant)
  return math.max(math.ceil((instant - now) / 1000) + 1, $least)
end

-- FUNCTION owed
-- owed is how much of a debt a count takes: core's MaxCount is the end.
local function owed(count, debt)
  return math.max(0, math.min(debt, 4503599627370496 - count))
end

-- FUNCTION arrival
-- arrival writes a cell of GCRA.
local function arrival(key, q, r, refunded, latest)
  local ends = px(math.max(q + math.min(r, 1), latest))
  if refunded + latest == 0 then
    redis.call('SET', key, string.format('%d %d', q, r), 'PX', ends)
  else
    redis.call('SET', key, string.format('%d %d %d %d', q, r, refunded, latest), 'PX', ends)
  end
end

-- FUNCTION strike
-- strike counts n strikes in the cell of a ban, and begins one when that is
-- enough. During one it does nothing.
local function strike(key, n, since, strikes, ends, row, after, within, first, longest, forgive)
  if n == 0 or now < ends then return end
  if now >= ends + forgive then ends, row = 0, 0 end
  if now >= since + within then strikes = 0 end
  if strikes == 0 then since = now end
  strikes = strikes + owed(strikes, n)
  local latest = since + within
  if strikes >= after then
    local length, before = first, row
    while before > 0 and length < longest do
      length, before = length * 2, before - 1
    end
    ends, row = math.max(now, since) + math.min(length, longest), row + 1
    since, strikes, latest = 0, 0, 0
  end
  if ends > 0 then latest = math.max(latest, ends + forgive) end
  redis.call('SET', key, string.format('%d %d %d %d', since, strikes, ends, row), 'PX', px(latest))
end

-- FUNCTION words
-- words are the n words of a cell as text; nil where it has others.
local function words(v, n)
  local w = {}
  if v == false then
    for i = 1, n do w[i] = '0' end
    return w
  end
  if not v or not string.find(v, '^%d[%d ]*$') then return nil end
  for d in string.gmatch(v, '%d+') do
    if tonumber(d) > 9007199254740991 then return nil end
    w[#w + 1] = d
  end
  if #w == n then return w end
end

-- FUNCTION limbs
-- limbs is the product of a < 2^53 and b < 2^46 as two numbers, the second one
-- below 2^52.
local function limbs(a, b)
  local half = 67108864
  local ah, bh = math.floor(a / half), math.floor(b / half)
  local al, bl = a - ah * half, b - bh * half
  local lo, m1, m2 = al * bl, ah * bl, al * bh
  local m = m1 % half + m2 % half + math.floor(lo / half)
  return ah * bh + math.floor(m1 / half) + math.floor(m2 / half) + math.floor(m / half),
    (m % half) * half + lo % half
end

-- FUNCTION less
-- less is a*b < c*d, exactly; a and c below 2^53, b and d below 2^46.
local function less(a, b, c, d)
  local x, y = a * b, c * d
  if x < 9007199254740992 and y < 9007199254740992 then return x < y end
  local xh, xl = limbs(a, b)
  local yh, yl = limbs(c, d)
  return xh < yh or xh == yh and xl < yl
end

-- FUNCTION pair
-- pair is entry i of a log: its stamp, and all units charged up to and with it.
-- nil past the end, false where there is something else.
local function pair(key, i, last)
  local v = redis.pcall('LRANGE', key, 2 * i, last or 2 * i + 1)
  if v.err then
    if string.find(v.err, 'WRONGTYPE', 1, true) then return false end
    redis.call('LRANGE', key, 0, 0)
  end
  if #v == 0 then return nil end
  local s, c = tonumber(v[1]), tonumber(v[2])
  if s and c and s % 1 == 0 and c % 1 == 0 and math.min(s, c) >= 0 and math.max(s, c) <= 9007199254740991 then
    return s, c
  end
  return false
end

-- FUNCTION begin
-- begin makes a log. A list can not be made with its time to live in one command,
-- so the server may first object to both: the one for want of memory, the other
-- forbidden.
local function begin(key, ends)
  redis.call('RPUSHX', key, '0')
  redis.call('PEXPIRE', key, ends)
  redis.call('RPUSH', key, '0', '0')
end

-- FUNCTION seek
-- seek is the first entry of a log after entry lo that has more than x in a
-- column: 1 for stamps, 2 for units. Entry lo has x or less.
local function seek(key, lo, column, x)
  local function more(i)
    local s, c = pair(key, i)
    if column == 2 then s = c end
    return not s or s > x
  end
  local step = 1
  while not more(lo + step) do
    lo, step = lo + step, step * 2
  end
  local hi = lo + step
  while hi - lo > 1 do
    local i = math.floor((lo + hi) / 2)
    if more(i) then hi = i else lo = i end
  end
  return hi
end

-- FUNCTION room
-- room is the sum that a log's newest entry has, to which units can be added
-- below 2^53. Where they could not, all sums are first counted from 0 again.
local function room(key, total, units)
  if total + units <= 9007199254740991 then return total end
  local v = redis.call('LRANGE', key, 0, -1)
  local base = tonumber(v[2])
  for i = 1, #v, 2 do
    redis.call('LSET', key, i, string.format('%d', tonumber(v[i + 1]) - base))
  end
  return total - base
end
