local s = ('hello world foo bar '):rep(500)
local n = 0
for i = 1, 40 do
local r, c = s:gsub('o', '0') n = n + c r, c = s:gsub('(%w+)', '<%1>') n = n + c end
return n
