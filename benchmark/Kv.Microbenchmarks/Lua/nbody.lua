local b = {}
for i = 1, 5 do b[i] = {x = i, y = i * 2, z = i * 3, vx = 0, vy = 0, vz = 0, m = i} end
for step = 1, 60000 do
for i = 1, 5 do
local p = b[i]
for j = i + 1, 5 do
local q = b[j]
local dx, dy, dz = p.x - q.x, p.y - q.y, p.z - q.z
local d = math.sqrt(dx*dx + dy*dy + dz*dz)
local m = 0.001 / (d * d * d) p.vx = p.vx - dx * q.m * m p.vy = p.vy - dy * q.m * m p.vz = p.vz - dz * q.m * m q.vx = q.vx + dx * p.m * m q.vy = q.vy + dy * p.m * m q.vz = q.vz + dz * p.m * m end end
for i = 1, 5 do
local p = b[i] p.x = p.x + 0.001 * p.vx p.y = p.y + 0.001 * p.vy p.z = p.z + 0.001 * p.vz end end
return b[1].x
