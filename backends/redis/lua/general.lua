-- The program for all plans that have none of their own: the same fragments,
-- chosen by number while it runs.
-- KEYS: the cells' names, one per ask.
-- ARGV: $from - 1 of the whole call, then per ask, in this order:
--   kind when soft last limit window precision counters phase aligned length
--   cost burst costq costr fullq fullr banfirst banlongest banforgive
-- where soft, last (of its decision) and aligned (0: windows begin at the first
-- charge) are 0 or 1, and length is that of the windows that phase places.
-- RETURN: the instant, then per ask its cell as it was before its decision
-- (false: empty), or 1 where it holds something foreign.
local raw, ok, bad = {}, {}, {}
local a = {}
for i = $from, #ARGV do a[i] = tonumber(ARGV[i]) end
local reply = {now}
local i, first = 1, 1
while first <= #KEYS do
  local admitted, broken = true, false
  i = first
  while true do
    raw[i], ok[i], bad[i] = false, false, false
    $decide
    if bad[i] then raw[i] = 1 end
    if bad[i] or $limit == 0 then ok[i] = false end
    if $soft == 0 then
      admitted, broken = admitted and ok[i], broken or bad[i]
    end
    reply[i + 1] = raw[i]
    if $last == 1 then break end
    i = i + 1
  end
  local last = i
  for j = first, last do
    i = j
    local yes, no = admitted, broken
    if $soft == 1 then yes, no = ok[i], bad[i] end
    if not no and $limit > 0 and ($when == 2 or $when == 0 and yes or $when == 1 and not yes) then
      $charge
    end
  end
  first = last + 1
end
return reply
