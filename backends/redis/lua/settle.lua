-- The program that corrects charges: the strategies' fragments, chosen by number
-- while it runs.
-- KEYS: the cells' names, one per correction; a cell may come several times.
-- ARGV: $from - 1 of the whole call, then per correction, in this order:
--   kind delta limit window precision counters phase aligned length costq costr
--   ra rb rc rlimit banfirst banlongest banforgive
-- where delta is the units refunded (below 0) or owed, costq and costr their span
-- in GCRA, and ra to rlimit the receipt: its words A, B and C, but for GCRA the
-- upper half of B as rb and the lower one as rlimit.
-- RETURN: the numbers, from 1, of the corrections whose cell holds something
-- foreign. They are not made, the others are.
local foreign = {}
for i = 1, #KEYS do
  local a = {}
  for k = 1, $count do a[k] = tonumber(ARGV[(i - 1) * $count + k + $from - 1]) end
  local $locals
  local bad = false
  $correct
  if bad then foreign[#foreign + 1] = i end
end
return foreign
