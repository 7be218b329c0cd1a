local t = {}
for i = 1, 1000 do t[i] = i end
local s = 0
for r = 1, 3000 do
for k, v in ipairs(t) do s = s + v end end
return s
