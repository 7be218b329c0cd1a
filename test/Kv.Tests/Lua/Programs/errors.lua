-- What is wrong, where, and what it is called.
local function try(text) local f, message = loadstring(text, "=text") if not f then return message end return select(2, pcall(f)) end
for _, text in ipairs{
  "local x; x.y = 1", "local x; return x.y", "foo.bar = 1", "return foo.bar", "local t = {} return t.a.b", "local t = {} return t[1].b", "local t = {} t.a.b = 1",
  "local x = 1 return function() return x.y.z end", "local x return (function() return x.y end)()", "foo()", "local t = {} t.foo()", "local t = {} t:foo()", "('x'):bad()",
  "return 1 + nil", "local a = {} return a + 1", "return foo * 2", "local t = {} return t.x - 1", "return -{}", "return #5", "return #nil", "return {} .. 'x'", "local a return 'x' .. a",
  "return 1 < '2'", "return {} < {}", "return nil < 1", "return {} <= 1", "return 'a' < 1", "error('x')", "error('x', 0)", "error('x', 2)", "error()", "error(nil)", "error({})",
  "for i = 'a', 2 do end", "for i = 1, {} do end", "for i = 1, 2, {} do end", "for k in 5 do end", "local t = {} t[nil] = 1", "local t = {} t[0/0] = 1", "return math.floor('x')",
  "string.rep()", "('x'):rep({})", "string.rep('x')", "setmetatable(1, {})", "return setmetatable({}, 1)", "return tonumber()", "return tostring()", "return ipairs()", "next({}, 'x')",
  "return select(0)", "return ('x'):format()", "return ('%d'):format('x')", "return ('%y'):format(1)", "return ('%'):format(1)", "return string.char(256)", "return table.concat({1, {}, 3})",
  "return table.concat({}, 'x', 1, 2)", "assert(false)", "assert(nil, 'message')", "return unpack(1)", "return ('x'):find('[a')", "return ('x'):find('%')", "return ('x'):gsub('(', 'a')",
  "return ('x'):gsub('x', true)", "return ('x'):gsub('x', '%2')", "return ('x'):find('%f')", "return math.random(0)", "return math.random(2, 1)", "return coroutine.resume(1)", "coroutine.yield()",
  "return rawset(1, 2, 3)", "return rawget({})", "table.insert({}, 1, 2, 3)", "table.sort({3, 'x', 1})", "return ('x')()", "return 2()", "x =", "x", "for", "if x", "return return", "local 1", "x = }",
  "goto x", "break", "return ...", "function f() return ... end", "x = 'abc", "x = [[abc", "x = [=abc", "x = 1e", "x = 0x", "x = 3..4", "--[[ x", "a.b:c = 1", "(a) = 1", "f() = 1", "a, f() = 1, 2",
  "local function f(a, ..., b) end", "x = '\\300'", "return 'a\nb'", "if x then else elseif y end", "repeat until", "local t = {1, 2", "f(\n1", "x = ~1", "return @", "x = \"\\q\"", "local a <const> = 1",
  "local a\nlocal x = a:\nfoo()", "local t = {}\nt:\nfoo\n{}", "local t = {}\nt\n:foo\n'x'", "return {1, v--[[\n\n]](1)}", "return {v--[[\n]]\n(1)}", "local f = {v--[[\n]] {1}, 2 ! 3}",
  "x = \0", "return ({'', \0y})", "return \0\n", "\1", "x = 'a\0b' y",
} do print(text, try(text)) end
print(pcall(error)) print(pcall(error, "x")) print(pcall(string.rep)) print(pcall(pcall)) print(pcall(pcall, error, "x")) print(xpcall(error, error))
local function level(n) error("level", n) end
for n = 0, 4 do print(pcall(function() level(n) end)) end
print(pcall(function() local t = setmetatable({}, {__index = function(t, k) error("no " .. k) end}) return t.field end))
print(xpcall(function() local x = nil; return x.y end, function(m) return "handled: " .. m end))
print(xpcall(function() return 1, 2, 3 end, print)) print(xpcall(function() error({}) end, type))
print(select('#', pcall(error, nil)), pcall(error, nil))
print(pcall(function() local a; a() end)) print(pcall(function() local t = {x = {}} t.x.y.z() end))
