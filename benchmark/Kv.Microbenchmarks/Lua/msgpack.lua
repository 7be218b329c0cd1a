local t = {}
for i = 1, 100 do t[i] = {id = i, name = 'name of ' .. i, tags = {'a', 'b', 'c'}, score = i / 7, ok = true} end
local n = 0
for i = 1, 300 do n = n + #cmsgpack.unpack(cmsgpack.pack(t)) end
return n
