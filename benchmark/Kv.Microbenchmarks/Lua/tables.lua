local n = 0 for i = 1, 1000000 do local t = {i, i + 1, x = i} n = n + t[1] + t.x end return n
