local n = 0 for i = 1, 300000 do n = n + #string.format('%d:%s:%5.2f', i, 'abc', i / 3) end return n
