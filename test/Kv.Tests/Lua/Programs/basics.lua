print("hello", 1, 1.5, 1e15, 2^53, -0.0, 1/0, 10/3)
local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
print(fib(20))
local t = {} for i=1,10 do t[#t+1]=i*i end
print(#t, t[10], table.concat(t, ","))
local function va(...) local a,b = ... return select('#',...), a, b, ... end
print(va(1,2,3))
print(pcall(function() error({}) end))
print(pcall(function() local x; x.y = 1 end))
print(pcall(function() return 1 + {} end))
print(pcall(error, "x", 0))
local mt = setmetatable({}, {__index=function(t,k) return k.."!" end, __add=function(a,b) return 42 end, __call=function(self, x) return x*2 end, __lt=function() return true end, __concat=function(a,b) return "cc" end, __eq=function() return true end})
print(mt.foo, mt+1, mt(21), mt<mt, mt.."a", "a"..mt, 1 ..mt.. 2)
local co = coroutine.wrap(function(a) local b = coroutine.yield(a+1) print("b",b) local c = coroutine.yield(b*2) return "end" end)
print(co(1), co(10), co(3))
print(string.format("%5.2f|%d|%s|%q|%x", 3.14159, 42, "hi", 'a"b\n', 255))
print(("hello world"):gsub("o", "0"), ("abc"):gsub("%w", "%0%0"), ("abc"):gsub("", "-"))
print(string.find("hello", "l+"), string.match("key=val", "(%w+)=(%w+)"))
for w in string.gmatch("one two three", "%a+") do io = w end
for k,v in pairs({a=1}) do print(k,v) end
for i,v in ipairs({5,6,7}) do print(i,v) end
local s = {5,2,8,1,9,3} table.sort(s) print(table.concat(s," ")) table.sort(s, function(a,b) return a>b end) print(table.concat(s," "))
print(xpcall(function() error("a") end, function(m) return m.."!" end))
local function g(a,b,...) local arg={...} return #arg end print(g(1,2,3,4))
local x = 0 repeat local y = x x = x + 1 until y >= 3 print(x)
while true do x = x + 1 if x > 10 then break end end print(x)
for i=10,1,-3 do x = i end print(x)
local fs = {} for i=1,3 do fs[i] = function() i = i + 1 return i end end print(fs[1](), fs[1](), fs[2]())
print(tostring(nil), tostring(true), tonumber("0x1F"), tonumber("  10  "), tonumber("1e1"), tonumber("z",36), tonumber("abc"))
print(#"abc", -2^2, not nil, 1 and 2, nil or 3, false and 1, "10"+5, 10 .. 20)
print(pcall(string.rep)) print(pcall(("x").rep, "x", -1))
print(select(-1, 1, 2, 3), select(2, "a", "b"))
print(unpack({1,2,3}, 2)) print(next({})) print(type(next), rawequal(t,t), rawget(t,1))
goto_ = 1 print(loadstring("return 1+1")()) print(loadstring("x=")) print(pcall(loadstring("error('q')", "=foo")))
