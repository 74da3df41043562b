-- Writes cells if all of them are as read.lua found them.
-- KEYS: the cells' names.
-- ARGV: per cell what read.lua returned ("" where there was none); the new
-- content in the same form, "" to delete it, "=" to leave it; and the time to
-- live in milliseconds.
-- RETURN: 1, or 0 where another came first and nothing was written.
local function content(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then return 's' .. redis.call('GET', key) end
  if kind == 'list' then return 'l' .. table.concat(redis.call('LRANGE', key, 0, -1), ' ') end
  if kind == 'none' then return '' end
  return '1'
end
for i, key in ipairs(KEYS) do
  if content(key) ~= ARGV[3 * i - 2] then return 0 end
end
for i, key in ipairs(KEYS) do
  local value, ttl = ARGV[3 * i - 1], ARGV[3 * i]
  local kind = string.sub(value, 1, 1)
  if kind == '' then
    redis.call('DEL', key)
  elseif kind == 's' then
    redis.call('SET', key, string.sub(value, 2), 'PX', ttl)
  elseif kind == 'l' then
    -- First what the server may object to: want of memory, a command forbidden.
    local head = redis.call('LINDEX', key, 0)
    if head then redis.call('LSET', key, 0, head) else redis.call('RPUSHX', key, '0') end
    redis.call('PEXPIRE', key, ttl)
    redis.call('DEL', key)
    for word in string.gmatch(value, '%d+') do redis.call('RPUSH', key, word) end
    redis.call('PEXPIRE', key, ttl)
  end
end
return 1
