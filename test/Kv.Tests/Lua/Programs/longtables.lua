-- Arrays of some thousands of values: filled upwards, downwards, from the second place on, with gaps, emptied from
-- either end, beside other keys; what is in them is added up.
local function sum(t)
  local keys, values, count = 0, 0, 0
  for k, v in pairs(t) do
    keys = keys + (type(k) == 'number' and k or #k)
    values = values + (type(v) == 'number' and v or 1)
    count = count + 1
  end
  return count .. ' ' .. keys .. ' ' .. values
end

for _, n in ipairs{4095, 4096, 4097, 8192, 8193, 12289, 20000} do
  local t = {}
  for i = 1, n do t[i] = i end
  print(n, #t, sum(t))
  t[n + 1] = 7
  print(#t, t[n], t[n + 1], t[n + 2])
  for i = n + 1, n - 4200, -1 do if i > 0 then t[i] = nil end end
  print(#t, sum(t))
  for i = #t + 1, n + 3 do t[#t + 1] = i end
  print(#t, sum(t))

  local from2 = {}
  for i = 2, n do from2[i] = i end
  print(sum(from2), from2[1], from2[n], from2[n + 1])
  from2[1] = 1
  print(#from2, sum(from2))

  local down = {}
  for i = n, 1, -1 do down[i] = i end
  print(#down, sum(down))

  local mixed = {x = 1, y = 2}
  for i = 1, n do
    mixed[i] = i
    if i % 1000 == 0 then mixed['key' .. i] = i end
  end
  print(#mixed, sum(mixed))
  for k in pairs(mixed) do mixed[k] = nil end
  print(#mixed, next(mixed))

  local gaps = {}
  for i = 1, n, 3 do gaps[i] = i end
  print(sum(gaps))
  for i = 1, n do gaps[i] = gaps[i] or -i end
  print(#gaps, sum(gaps))

  local filled = {}
  for i = 1, n do table.insert(filled, i) end
  table.insert(filled, 1, 'first')
  table.insert(filled, 4097, 'middle')
  print(#filled, filled[1], filled[4096], filled[4097], filled[4098], filled[#filled])
  print(table.remove(filled, 1), table.remove(filled, 4096), table.remove(filled), #filled, sum(filled))
end

local sorted, x = {}, 42
for i = 1, 10000 do
  x = (x * 16807) % 2147483647
  sorted[i] = x
end
table.sort(sorted)
for i = 2, #sorted do assert(sorted[i - 1] <= sorted[i]) end
print(#sorted, sorted[1], sorted[4096], sorted[4097], sorted[10000])
print(#table.concat(sorted, ','), select('#', unpack(sorted, 4090, 4100)))

-- A border beyond the array part, among other keys.
local beyond = {}
for i = 1, 64 do beyond['k' .. i] = i end
for i = 1, 64 do beyond['k' .. i] = nil end
for i = 2, 40 do beyond[i] = i end
beyond[1] = 1
print(#beyond, sum(beyond))
