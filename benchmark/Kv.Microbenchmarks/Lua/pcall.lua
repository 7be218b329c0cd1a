local n = 0
for i = 1, 2000000 do
local ok, v = pcall(math.floor, i + 0.5) n = n + v end
for i = 1, 200000 do pcall(error, 'x') end
return n
