local n = 0
for i = 1, 300000 do
local a, b, c = struct.unpack('>I4dH', struct.pack('>I4dH', i, i / 3, i % 1000)) n = n + a + c end
return n
