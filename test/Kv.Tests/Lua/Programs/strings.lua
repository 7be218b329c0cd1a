local s = "hello world"
print(s:sub(1, 5), s:sub(-5), s:sub(-5, -3), s:sub(0), s:sub(20), s:sub(3, 2), s:sub(-100, 100), s:len(), s:upper(), ("ABC"):lower(), s:reverse(), s:rep(2), s:rep(0), s:byte(), s:byte(1, 3), s:byte(-1), s:byte(100), string.char(72, 105), string.char())
print(s:find("o"), s:find("o", 6), s:find("xyz"), s:find("l+"), s:find("(l)(l)"), s:find("."), s:find(".", 1, true), s:find(""), s:find("", 20), s:find("^hello"), s:find("^world"), s:find("world$"), s:find("o w", 1, true))
print(s:match("(%w+) (%w+)"), s:match("%d"), s:match("()ll()"), s:match("^(h)(.-)(o)"), s:match("o.-o"), s:match(".-"), s:match("[^aeiou]+"), s:match("[a-f]+"), s:match("[%a ]+"), s:match("%s(.*)"))
print(("key = value"):match("^(%w+)%s*=%s*(%w+)$"), ("2024-01-15"):match("(%d+)-(%d+)-(%d+)"), ("[[x]]"):match("%[%[(.*)%]%]"), ("f(a(b)c)d"):match("%b()"), ("THE (quick) fox"):find("%f[%a]%a+%f[%A]"), ("abcabc"):match("(abc)%1"), ("aXb"):match("%u"), ("a.b"):match("%."), ("-"):match("[%-]"), ("]"):match("[]]"), ("^"):match("[%^]"), ("a-z"):match("[a%-z]+"))
print(s:gsub("o", "0"), s:gsub("o", "0", 1), s:gsub("", "-"), s:gsub("%w+", "<%0>"), s:gsub("(%w)(%w)", "%2%1"), s:gsub("l", {l = "L"}), s:gsub("%w+", {hello = 1, world = false}), s:gsub("o", function(c) return c:upper() end), s:gsub("o", function() end), s:gsub("^h", "J"), s:gsub("x*", "."), ("abc"):gsub("%w", "%%%0"), ("a b c"):gsub(" ", ""), s:gsub(".", {}), s:gsub("l", "%1"), s:gsub("()", "%1"))
for k, v in string.gmatch("a=1, b=2, c=3", "(%w+)=(%w+)") do print(k, v) end for w in ("one two"):gmatch("%a+") do print(w) end for p in ("abc"):gmatch("()") do print(p) end for x in ("a,,b"):gmatch("([^,]*)") do print("[" .. x .. "]") end
print(("%d"):rep(3, "x"), ("x"):rep(3), ("ab"):rep(2), ("a\0b"):rep(2):len(), ("a\0b"):byte(1, -1), "\65\066\n\t\\\"\'")
print([[
line]], [==[a]]b]==], "a\
b", #[[

x]])
print(("x"):rep(3) .. 1 .. 2.5, table.concat({1, "a", 2.5}, "-"), table.concat({}), table.concat({1, 2, 3}, ", ", 2), table.concat({1, 2, 3}, ", ", 2, 3), table.concat({1, 2}, "", 3), ("a"):rep(5, ","))
print(tostring("x") == "x", tostring(12), tostring(true), tostring(nil), type(tostring({})), ("a" .. "b") == "ab", "a" .. 1 == "a1", ("abc") < ("abd"), "Z" < "a", "" == "")
print(("%s %s"):format("a", 1), ("%5s"):format("ab"), ("%q"):format("a\nb\0c\r\"\\"), ("%s"):format(("x"):rep(200)), ("%s"):format("a\0b"), ("%.3s"):format("abcdef"))
print(#string.format("%s", ("x"):rep(1000)), string.format("%%"), string.format(""), pcall(string.format, "%s"), pcall(string.format, "%d", "1.5"), string.format("%d", "10"), string.format("%s", 1e15))
print(string.len("a\0b"), ("a\0b"):upper():byte(1, -1), ("a\0b"):find("\0", 1, true), ("a\0b"):find("%z"), ("\255\254"):byte(1, 2), ("é"):len())
print(string.gfind == string.gmatch, loadstring("return 1 + 1")(), load((function() local parts = {"return ", "1", "+2"} local i = 0 return function() i = i + 1 return parts[i] end end)())())
