local co = coroutine.wrap(function()
for i = 1, 1000000 do coroutine.yield(i) end
return 0 end)
local s = 0
for i = 1, 1000000 do s = s + co() end
for i = 1, 100000 do coroutine.wrap(function() coroutine.yield() end)() end
return s
