local t = {}
for i = 1, 1000 do t['k' .. i] = i end
for i = 1, 1000 do t[i] = i end
local s = 0
for r = 1, 1000 do
for k, v in pairs(t) do s = s + v end end
return s
