for _, n in ipairs{0, -0, 1, -1, 0.1, 1/3, 1e14, 1e15, 123456789012345, 2^53, 2^63, 1e100, -1e-5, 1e-5, 123456.789e3, 0.1 + 0.2, 100, 1e2, 5e-324, 1.7976931348623157e308, 99999999999999, 999999999999999} do print(n, -n, n * 3, n / 7) end
print(1/0, -1/0, 0/0 ~= 0/0, math.huge, -math.huge, math.pi)
print(5 % 3, -5 % 3, 5 % -3, -5 % -3, 5.5 % 2, -5.5 % 2, 2^10, 2^0.5, 10 / 4, 7 - 10, 3 * -2, -2 ^ 2, 2 ^ 3 ^ 2, (2 ^ 3) ^ 2)
print("10" + 5, "3" * "4", 10 .. 20, "0x10" + 0, " 5 " + 1, -"2", "1e2" * 1, pcall(function() return "x" + 1 end))
print(tonumber("10"), tonumber("  10  "), tonumber("1e1"), tonumber("0x1F"), tonumber("1."), tonumber(".5"), tonumber("1e"), tonumber(""), tonumber(" "), tonumber("1 2"), tonumber("abc"), tonumber("1_0"), tonumber("- 1"), tonumber("+1"))
print(tonumber("11", 2), tonumber("zz", 36), tonumber("ff", 16), tonumber("0xff", 16), tonumber("9", 8), tonumber("-7", 8), tonumber("", 10), tonumber("1.5", 10), tonumber(10, 10), tonumber({}), tonumber(nil))
print(math.floor(-1.5), math.ceil(-1.5), math.abs(-3), math.max(1, 5, 3), math.min(4, 2, 8), math.fmod(-5, 3), math.mod(5, 3), math.modf(3.7), math.modf(-3.7), math.sqrt(16), math.pow(2, 8))
print(math.frexp(8), math.frexp(0.3), math.ldexp(0.5, 4), math.log(1), math.log10(1000), math.exp(0), math.deg(math.pi), math.rad(180), math.sin(0), math.cos(0), math.atan2(1, 1))
print(1 < 2, 1 <= 1, 2 > 1, "a" < "b", "a" < "B", "" < "a", "a\0b" < "a\0c", "10" < "9", 1 == 1.0, "1" == 1, 0 == -0, nil == false)
for i = 10, 1, -3 do print(i) end for i = 1, 0 do print("never") end for i = 1, 3 do local j = i i = 10 print(j) end for x = 0, 1, 0.25 do print(x) end for i = 3, 1 do print("never") end
local s = 0 for i = -5, 5 do s = s + i % 3 * 2 - i / 2 end print(s) for i = 1, 3 do for j = i, 3 do if j == 2 then break end print(i, j) end end
print(#"abc", #"", #"a\0b", #{1, 2, 3}, #{n = 1}, #{1, 2, nil}, not nil, not 0, not "", 1 and 2, nil and 1, false or nil, nil or false, 1 or error(), nil and error())
print(tostring(1e15), tostring(-0.0), 1e300 * 1e10, 2^1023 * 2, -(0/0) ~= 0, 3 .. "", 1.5 .. "|", -1 .. "")
print(string.format("%d %i %u %c %x %X %o %e %E %f %g %G %q %s %%", 1, -2, 3, 65, 255, 255, 8, 1.5, 1.5, 2.5, 0.0001, 1e20, 'a"\n\\', "s"))
print(string.format("[%5d] [%-5d] [%05d] [%+d] [% d] [%5.1f] [%-8.3f] [%08.2f] [%.0f] [%#x] [%#o] [%10s] [%-10s] [%.2s] [%5.1s]", 42, 42, 42, 42, 42, 3.14159, 3.14159, 3.14159, 2.5, 255, 8, "hi", "hi", "hello", "hello"))
print(string.format("%.3g %.10g %g %g %g %g %.0e %#g", 1234567, 0.1, 1e-5, 1e5, 1e15, 123456789, 12345, 1), string.format("%5s|%-5s|%s", nil and 1 or "a", "b", 3), string.format("%.20f", 0.1), string.format("%.14g", 2^53), string.format("%5c|", 66))
