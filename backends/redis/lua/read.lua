-- Reads cells for a compare-and-swap.
-- KEYS: the cells' names.
-- ARGV: the instant, where it is explicit.
-- RETURN: the instant, then per cell: false where there is none, "s" and the
-- string, "l" and the list's elements with spaces between, or 1 for anything
-- else.
local reply = {now}
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then
    reply[i + 1] = 's' .. redis.call('GET', key)
  elseif kind == 'list' then
    reply[i + 1] = 'l' .. table.concat(redis.call('LRANGE', key, 0, -1), ' ')
  elseif kind == 'none' then
    reply[i + 1] = false
  else
    reply[i + 1] = 1
  end
end
return reply
