local function counter() local n = 0 return function() n = n + 1 return n end, function() return n end end
local up, get = counter() up() up() print(get(), (counter())())
local made = {} for i = 1, 5 do local j = i * 10 made[i] = function() j = j + i return i, j end end
for i = 1, 5 do print(made[i]()) print(made[i]()) end
local loops = {} local k = 0 while k < 3 do k = k + 1 local x = k loops[k] = function() x = x + 1 return x end end
print(loops[1](), loops[1](), loops[2](), loops[3]())
local r = {} local n = 0 repeat local m = n r[#r + 1] = function() m = m + 1 return m end n = n + 1 until m >= 2
print(r[1](), r[1](), r[2](), r[3]())
local function fact(n) if n <= 1 then return 1 end return n * fact(n - 1) end print(fact(20))
local function even(n) end local odd function even(n) if n == 0 then return true end return odd(n - 1) end function odd(n) if n == 0 then return false end return even(n - 1) end
print(even(10000), odd(10001), even(7))
local function a() local x = 1 local function b() local function c() x = x + 1 return x end return c end return b()(), x end print(a())
local function args(...) local a, b = ... local t = {...} return select('#', ...), a, b, #t, (...) end
print(args()) print(args(1)) print(args(1, nil)) print(args(nil, nil, nil)) print((args(1, 2, 3)))
local function old(...) return arg.n, arg[1], #arg end print(old(), old(1), old(1, 2, nil))
local function tail(n, ...) if n == 0 then return ... end return tail(n - 1, n, ...) end print(tail(10)) print(select('#', tail(200)))
local function swap(a, b) return b, a end local x, y = 1, 2 x, y = y, x print(x, y, swap(x, y)) local t = {1, 2} local i = 1 i, t[i] = i + 1, 20 print(i, t[1], t[2])
local a, b, c = (function() return 1, 2, 3 end)() print(a, b, c) a, b, c = 0, (function() return 1, 2, 3 end)() print(a, b, c) a, b, c = ((function() return 1, 2, 3 end)()) print(a, b, c)
print(({(function() return 1, 2, 3 end)(), (function() return 1, 2, 3 end)()})[4], #{(function() return 1, 2, 3 end)(), 5})
do local x = 1 do local x = 2 print(x) end print(x) end local x = x print(x) local function x() return x end print(type(x()))
local t = {f = function(self, n) return self.v + n end, v = 5} print(t:f(1), t.f(t, 2), t.f({v = 1}, 1))
