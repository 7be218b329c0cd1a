local C = {} C.__index = C
function C.new(x)
return setmetatable({x = x}, C) end
function C:get()
return self.x end
local s = 0
for i = 1, 200000 do
local o = C.new(i)
for k = 1, 10 do s = s + o:get() end end
return s
