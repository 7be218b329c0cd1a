local t = {10, 20, 30, x = 1, ["y z"] = 2, [100] = 3, [1.5] = 4, [true] = 5, nested = {a = {b = 1}}}
print(#t, t[1], t.x, t["y z"], t[100], t[1.5], t[true], t.nested.a.b, t[4], t.none, next({}), rawget(t, "x"), rawequal(t, t), rawequal(t, {}), rawlen)
t[#t + 1] = 40 t.x = nil t[2] = nil t[2] = "two" print(#t, t[4], t.x, t[2]) table.insert(t, 50) table.insert(t, 1, 5) print(t[1], t[2], t[6], #t, table.remove(t), table.remove(t, 1), #t, t[1], table.remove({}), table.remove({}, 1))
local sum, n = 0, 0 for k, v in pairs({1, 2, 3, a = 4, b = 5}) do sum = sum + v n = n + 1 end print(sum, n) for i, v in ipairs({1, 2, nil, 4}) do print(i, v) end
local m = {} for i = 1, 100 do m["k" .. i] = i m[i] = i end local c = 0 for k, v in pairs(m) do m[k] = nil c = c + 1 end print(c, next(m)) for i = 1, 50 do m[i * 3] = i end local s = 0 for k, v in pairs(m) do s = s + k * v end print(s)
local order = {} for i, v in ipairs({"c", "a", "b"}) do order[#order + 1] = v end print(table.concat(order)) local big = {} for i = 1, 1000 do big[i] = i end for i = 1000, 501, -1 do big[i] = nil end print(#big)
local sorted = {5, 2, 8, 1, 9, 3, 7, 4, 6, 0} table.sort(sorted) print(table.concat(sorted, " ")) table.sort(sorted, function(a, b) return a > b end) print(table.concat(sorted, " ")) local words = {"pear", "apple", "fig", "Apple", ""} table.sort(words) print(table.concat(words, " "))
local recs = {} for i = 1, 50 do recs[i] = {key = (i * 37) % 11, id = i} end table.sort(recs, function(a, b) if a.key ~= b.key then return a.key < b.key end return a.id < b.id end) local out = {} for i, r in ipairs(recs) do out[i] = r.key .. ":" .. r.id end print(table.concat(out, " "))
local same = {} for i = 1, 40 do same[i] = {k = i % 3, id = i} end table.sort(same, function(a, b) return a.k < b.k end) out = {} for i, r in ipairs(same) do out[i] = r.id end print(table.concat(out, " ")) print(pcall(table.sort, {3, 1, "x"})) print(pcall(table.sort, {1, 2, 3, 4, 5}, function() return true end))
for n = 0, 20 do local v = {} local x = n * 7919 for i = 1, n do x = (x * 1103515245 + 12345) % 2147483648 v[i] = x % 10 end table.sort(v) print(table.concat(v, ",")) end
print(table.getn({1, 2}), table.maxn({1, 2, [10] = 3}), table.maxn({}), unpack({1, 2, 3})) print(unpack({1, 2, 3}, 2)) print(unpack({1, 2, 3}, 2, 5)) print(unpack({}, 1, 3)) print(select('#', unpack({}, 1, 0)), select(2, "a", "b", "c"), select(-1, "a", "b"))
table.foreach({1, 2}, print) print(table.foreach({5, 6, 7}, function(k, v) if k == 2 then return v end end)) table.foreachi({1, 2, 3}, function(i, v) print(i, v) end) print(pcall(table.setn, {}, 1))
local nan = 0/0 local w = {} print(pcall(function() w[nan] = 1 end), w[nan], pcall(function() w[nil] = 1 end), w[nil]) w[1] = 1 w[1.0] = 2 w["1"] = 3 print(w[1], w["1"]) w[-1] = "n" w[0] = "z" w[2^53] = "b" print(w[-1], w[0], w[2^53], #w)
local holes = {1, 2, nil, 4} print(#holes == 4 or #holes == 2) print(#{nil}, #{nil, 2} == 2 or #{nil, 2} == 0, #{n = 1, 2, 3}, #{[1] = 1, [2] = 2}) local q = {} q[1] = 1 q[2] = 2 q[4] = 4 print(#q == 2 or #q == 4)
local keys = {} for k in pairs({a = 1, b = 2, c = 3}) do keys[#keys + 1] = k end table.sort(keys) print(table.concat(keys)) local d = {} for i = 1, 10 do d[i] = i end for i = 1, 10 do if i % 2 == 0 then table.remove(d, #d) end end print(#d, table.concat(d, ","))
local deep = {} local cur = deep for i = 1, 100 do cur.n = {v = i} cur = cur.n end cur = deep local steps = 0 while cur.n do cur = cur.n steps = steps + cur.v end print(steps) local big2 = {f = 1, g = {1, 2, {3}}} print(big2.g[3][1], big2["f"])
print(#{1, 2, 3, unpack({4, 5, 6})}, #{unpack({1, 2, 3}), 10}, ({unpack({1, 2, 3})})[3], (unpack({7, 8}))) local wide = {} for i = 1, 120 do wide[i] = i end print(#{unpack(wide)}, ({unpack(wide)})[120]) print(#{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60})
for seed = 1, 60 do -- a comparator that writes to the table that is sorted
  local x, t, n = seed * 7919, {}, 2 + seed % 15
  local function random(most) x = (x * 16807) % 2147483647 return x % most end
  for i = 1, n do t[i] = random(20) end
  local function less(a, b) if random(3) == 0 then t[1 + random(n)] = random(20) end return a < b end
  local done, failure = pcall(table.sort, t, less)
  print(seed, done, failure, table.concat(t, " "))
end
