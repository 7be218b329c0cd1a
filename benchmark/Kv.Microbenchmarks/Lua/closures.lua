local s = 0
for i = 1, 2000000 do
local f = function(x)
return x + i end s = s + f(1) end
local function counter()
local c = 0
return function() c = c + 1
return c end end
local c = counter()
for i = 1, 3000000 do c() end
return s + c()
