local t = {}
for i = 1, 300000 do t[#t+1] = 'item' .. i .. ',' end
local s = table.concat(t)
return #s
