local c = 0
for r = 1, 5 do
local f = {}
for i = 2, 300000 do f[i] = true end
for i = 2, 300000 do
if f[i] then c = c + 1
for k = i+i, 300000, i do f[k] = false end end end end
return c
