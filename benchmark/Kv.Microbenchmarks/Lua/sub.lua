local s = 'the quick brown fox jumps over the lazy dog'
local n = 0
for i = 1, 2000000 do n = n + #s:sub(i % 30, i % 30 + 5) + s:byte(i % 40 + 1) end
return n
