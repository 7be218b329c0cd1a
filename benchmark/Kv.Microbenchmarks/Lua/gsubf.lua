local s = ('hello world foo bar '):rep(500)
local n = 0
for i = 1, 40 do s:gsub('%w+', function(w) n = n + #w end) end
return n
