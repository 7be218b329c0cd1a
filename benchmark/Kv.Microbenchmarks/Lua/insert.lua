local n = 0
for r = 1, 20 do
local t = {}
for i = 1, 50000 do table.insert(t, i) end
for i = 1, 50000 do n = n + table.remove(t) end end
return n
