local function f(...)
return select('#', ...) end
local function g(...)
local a, b = ...
return a + b end
local s = 0
for i = 1, 2000000 do s = s + f(i, i, i) + g(i, 1) end
return s
