#!/usr/bin/env python3
"""Measures what scripts cost: calls of short ones by many clients, the time of programs in one, and new texts.

    benchmark/tools/scripts.py --kv PATH [--garnet PATH] [--parts calls,programs,new,workers,waits]
        [--only NAMES] [--rounds 5] [--seconds 2]

Servers side by side, one after the other in each round, each pinned to one core, the load to the other; medians. A
ratio of calls above 1 is faster than redis-server, a ratio of times below 1. Needs redis-server, redis-benchmark,
taskset. The part "waits" is of Kv alone: how long another client of the same worker waits for a SET while one runs a
hostile script again and again.
"""
import argparse, multiprocessing, os, re, shutil, socket, statistics, subprocess, tempfile, time

from server import Client, Server, encode

SERVER_CPU, CLIENT_CPU = "0", "1"
CLIENTS, KEYS = 50, 100_000

# Of one key each.
CALLS = {
    "set": "return redis.call('SET', KEYS[1], ARGV[1])",
    "get": "return redis.call('GET', KEYS[1])",         # what set has left
    "incr": "return redis.call('INCR', KEYS[1])",
    "release": "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end",
    "limiter": "local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('EXPIRE', KEYS[1], 60) end "
               "return n > 10 and 0 or 1",
    # The shape of a queue's: a job's number, its hash, its place in a list.
    "addjob": "local id = redis.call('INCR', KEYS[1]) "
              "redis.call('HSET', KEYS[2], 'name', ARGV[1], 'data', ARGV[1], 'opts', '{}', 'delay', 0) "
              "redis.call('LPUSH', KEYS[3], id) redis.call('LTRIM', KEYS[3], 0, 99) return id",
}

PROGRAMS = {
    "loop": "local n = 0 for i = 1, 5000000 do n = n + i % 7 end return n",
    "calls": "local function f(a, b) return a + b end local n = 0 for i = 1, 2000000 do n = f(n, i) end return n",
    "fib": "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end return fib(25)",
    "sieve": "local n, t, c = 200000, {}, 0 for i = 2, n do t[i] = true end for i = 2, n do "
             "if t[i] then c = c + 1 for j = i * i, n, i do t[j] = false end end end return c",
    "n-body": """
local bodies = {{0,0,0,0,0,0,39.47},{4.84,-1.16,-0.10,0.60,2.81,-0.02,0.037},
  {8.34,4.12,-0.4,-1.01,1.82,0.008,0.011},{12.89,-15.11,-0.22,1.08,0.86,-0.01,0.0017},
  {15.37,-25.9,0.17,0.97,0.59,-0.03,0.002}}
for step = 1, 3000 do
  for i = 1, #bodies do
    local a = bodies[i]
    for j = i + 1, #bodies do
      local b = bodies[j]
      local x, y, z = a[1] - b[1], a[2] - b[2], a[3] - b[3]
      local d = x * x + y * y + z * z
      local m = 0.01 / (d * math.sqrt(d))
      a[4] = a[4] - x * b[7] * m a[5] = a[5] - y * b[7] * m a[6] = a[6] - z * b[7] * m
      b[4] = b[4] + x * a[7] * m b[5] = b[5] + y * a[7] * m b[6] = b[6] + z * a[7] * m
    end
  end
  for i = 1, #bodies do
    local b = bodies[i]
    b[1] = b[1] + 0.01 * b[4] b[2] = b[2] + 0.01 * b[5] b[3] = b[3] + 0.01 * b[6]
  end
end
return tostring(bodies[1][1])""",
    "strings": "local s = '' for i = 1, 5000 do s = s .. 'x' .. i end return #s",
    "buffer": "local t = {} for i = 1, 200000 do t[#t + 1] = 'item' .. i end return #table.concat(t, ',')",
    "sort": "local t, x = {}, 42 for i = 1, 50000 do x = (x * 16807) % 2147483647 t[i] = x end "
            "table.sort(t) return t[1]",
    "sort-by": "local t, x = {}, 42 for i = 1, 30000 do x = (x * 16807) % 2147483647 t[i] = x end "
               "table.sort(t, function(a, b) return a > b end) return t[1]",
    "gsub": "local s, n = ('hello world '):rep(5000), 0 for i = 1, 10 do "
            "local _, c = s:gsub('o', '0') n = n + c end return n",
    "gsub-by": "local s, n = ('hello world '):rep(5000), 0 for i = 1, 4 do "
               "local _, c = s:gsub('%w+', function(w) return w:upper() end) n = n + c end return n",
    "format": "local n = 0 for i = 1, 100000 do n = n + #string.format('%d:%s:%5.2f', i, 'x', i / 3) end return n",
    "hash": "local t = {} for i = 1, 200000 do t['k' .. i % 1000] = i end "
            "local n = 0 for k, v in pairs(t) do n = n + v end return n",
    "encode": "local t = {} for i = 1, 150 do "
              "t[i] = {id = i, name = 'item number ' .. i, price = i * 1.5, tags = {'a', 'b', true}} end local n = 0 "
              "for i = 1, 30 do n = n + #cjson.encode(t) end return n",
    "decode": "local t = {} for i = 1, 150 do "
              "t[i] = {id = i, name = 'item number ' .. i, price = i * 1.5, tags = {'a', 'b', true}} end "
              "local s, n = cjson.encode(t), 0 "
              "for i = 1, 30 do n = n + #cjson.decode(s) end return n",
    "redis.call": "local n = 0 for i = 1, 50000 do n = n + #redis.call('GET', KEYS[1]) end return n",
}

THIRTY_LINES = "\n".join(
    ["local key, now, most = KEYS[1], tonumber(ARGV[1]), 100 -- NUMBER", "local function check(value)",
     "  if type(value) ~= 'number' then error('no number') end", "  return value", "end"]
    + [f"local v{i} = check(most + {i}) * 2 if v{i} > now then v{i} = v{i} - now end" for i in range(18)]
    + ["local held = redis.call('GET', key)", "if held and tonumber(held) and tonumber(held) > most then",
       "  return 0", "end", "redis.call('SET', key, now)", "for i = 1, 3 do",
       "  most = most + i", "end", "return most"])


LONG_STRING = "local s = ('0123456789abcdef'):rep(65536) s = s:rep(20) "
STATEMENTS = "local t = {} for i = 1, 200000 do t[i] = 'local x' .. i % 100 .. ' = ' .. i end "
HOSTILE = {
    "endless loop": "while true do end",
    "endless loop in pcall": "while true do pcall(function() while true do end end) end",
    "calls without end": "local function f() return 1 + f() end return pcall(f)",
    "tables without end": "local t = {} while true do t = {t} end",
    "array without end": "local t = {} while true do t[#t + 1] = 1 end",
    "hash table without end": "local t, i = {}, 0 while true do i = i + 1 t['k' .. i] = i end",
    "numbers as keys": "local t, i = {}, 0.5 while true do i = i + 1 t[i] = i end",
    "next over what was cleared": "local t = {} for i = 1, 300000 do t[i + 0.5] = i end "
                                  "for k in pairs(t) do t[k] = nil end for i = 1, 1e9 do next(t) end",
    "strings of 1 KB": "local t, i = {}, 0 local s = ('x'):rep(1000) while true do i = i + 1 t[i] = s .. i end",
    "s .. s": "local s = 'x' while true do s = s .. s end",
    "rep of 30 MB": "for i = 1, 1e9 do local s = ('x'):rep(3e7) end",
    "upper, lower, reverse": LONG_STRING + "while true do s = s:upper():lower():reverse() end",
    "%q": LONG_STRING + "while true do string.format('%q', s) end",
    "compare": LONG_STRING + "local a, b, n = s .. 'a', s .. 'b', 0 while true do if a < b then n = n + 1 end end",
    "find": LONG_STRING + "while true do s:find('[^%w]') end",
    "find plain": LONG_STRING + "while true do s:find('fedc', 1, true) end",
    "pattern without end": "return ('a'):rep(60):find(('a-'):rep(30) .. 'c')",
    "gsub to 64 MB": "local s = ('x'):rep(1e5) while true do s = s:gsub('x', 'xxxxxxxxxx') end",
    "tonumber": "local s = ('1'):rep(2e7) while true do tonumber(s) end",
    "tonumber of base 7": "local s = ('1'):rep(2e7) while true do tonumber(s, 7) end",
    "string keys of 20 MB": LONG_STRING + "local t, i = {}, 0 while true do i = i + 1 t[1] = t[s .. i] end",
    "concat": "local t = {} for i = 1, 1e6 do t[i] = i end while true do table.concat(t, ',') end",
    "sort": "local t, x = {}, 1 for i = 1, 300000 do x = x * 16807 % 2147483647 t[i] = x end "
            "while true do local u = {} for i = 1, #t do u[i] = t[i] end table.sort(u) end",
    "cjson": "local t = {} for i = 1, 200000 do t[i] = {i} end "
             "while true do local s = cjson.encode(t) cjson.decode(s) end",
    "cmsgpack": "local t = {} for i = 1, 200000 do t[i] = {i} end "
                "while true do local s = cmsgpack.pack(t) cmsgpack.unpack(s) end",
    "sha1hex": LONG_STRING + "while true do redis.sha1hex(s) end",
    "loadstring of 6 MB": "local s = ('x = 1 '):rep(1000000) while true do loadstring(s) end",
    "loadstring of locals": STATEMENTS + "local s = 'do ' .. table.concat(t, ' end do ') .. ' end' "
                            "while true do loadstring(s) end",
    "loadstring of a table": "local s = 'return {' .. ('{1, a = \\'b\\'}, '):rep(150000) .. '}' "
                             "while true do loadstring(s) end",
    "loadstring of one string": LONG_STRING + "s = 'return [=[' .. s .. ']=]' while true do loadstring(s) end",
    "loadstring of comments": "local s = ('-- x\\n'):rep(4000000) while true do loadstring(s) end",
}

# Texts that are new each time: what the server compiles.
LARGE_TEXTS = {
    "EVAL of 6 MB": lambda number: b"x = 1 " * 1_000_000 + b"return %d" % number,
    "EVAL of 6 MB of functions": lambda number: b"".join(
        b"do local function f%d(a, b) local c = a + b if c then return c .. 'x' end end end " % i
        for i in range(75_000)) + b"return %d" % number,
    "EVAL of 20 MB of one table": lambda number: b"return {" + b"{1, a = 'b'}, " * 1_400_000 + b"%d}" % number,
    "EVAL of 60 MB of one string": lambda number: b"return #[=[" + b"x" * 60_000_000 + b"]=] + %d" % number,
}


class Measured(Server):
    """A server on processors of its own, on a free port."""

    def __init__(self, name, command, cpus=SERVER_CPU):
        self.name = name
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        super().__init__(["taskset", "-c", cpus] + command, port)

    def ask(self, *arguments):
        """Of a reply of one line, or one string."""
        reply = self.call(*[str(argument) for argument in arguments])
        if reply.startswith(b"-"):
            raise RuntimeError(reply.decode())
        return reply.strip().decode()


def rate(server, name, script, depth, seconds):
    """Calls a second by redis-benchmark, which the client's core bounds at depth 1."""
    sha = server.ask("SCRIPT", "LOAD", script)
    prefix = "set" if name == "get" else name
    names = [f"{prefix}-{part}:__rand_int__" for part in "khl"][:3 if "KEYS[3]" in script else 1]
    count = 20_000 if depth == 1 else 300_000
    begin = time.monotonic()
    rates = []
    while time.monotonic() - begin < seconds:
        load = ["redis-benchmark", "-p", str(server.port), "-c", str(CLIENTS), "-n", str(count), "-P", str(depth)]
        call = ["-r", str(KEYS), "-q", "EVALSHA", sha, str(len(names)), *names, "value"]
        output = subprocess.run(["taskset", "-c", CLIENT_CPU] + load + call, capture_output=True, text=True).stdout
        found = re.findall(r"([\d.]+) requests per second", output)
        if not found:
            raise RuntimeError(output)
        rates.append(float(found[-1]))
    return statistics.median(rates)


def program(server, script, seconds):
    """The median of some runs, in ms."""
    server.ask("SET", "key", "value")
    sha, times, begin = server.ask("SCRIPT", "LOAD", script), [], time.monotonic()
    while len(times) < 3 or time.monotonic() - begin < seconds:
        start = time.perf_counter()
        server.ask("EVALSHA", sha, 1, "key")
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def new_texts(server, count=300):
    """EVAL of a text that the server has not seen: microseconds at the median, and the first of all."""
    times = []
    for number in range(count):
        text = THIRTY_LINES.replace("NUMBER", f"{time.time_ns()}.{number}")
        start = time.perf_counter()
        server.ask("EVAL", text, 1, "key", 5)
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times), times[0]


def workers(kv, seconds):
    """Calls of a script of some ms that holds one key, by a client for each worker, with one and two workers. So long
    that the client, which runs on the same processors, takes next to nothing of them."""
    script = "for i = 1, 2000000 do end return redis.call('INCR', KEYS[1])"
    rates = {}
    for count in (1, 2):
        command = [kv, "--worker-threads", str(count), "--script-time-limit", "0"]
        with Measured("kv", command, "0,1") as server:
            sha = server.ask("SCRIPT", "LOAD", script)
            clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
            done, begin = 0, time.monotonic()
            while (passed := time.monotonic() - begin) < seconds:
                for number, client in enumerate(clients):
                    client.sendall(encode([b"EVALSHA", sha.encode(), b"1", b"key%d" % number]))
                for client in clients:
                    client.recv(4096)
                done += len(clients)
            rates[count] = done / passed
    ratio = rates[2] / rates[1]
    print(f"| two workers, scripts on different keys | {ratio:.2f} of one worker ({rates[1]:.0f}/s) |", flush=True)


def waits(kv, only, seconds):
    """How long others wait for a SET, at one worker with 500 ms for a script."""
    command = [kv, "--worker-threads", "1", "--script-time-limit", "500"]
    print("| hostile script | others wait, ms: 99.9th percentile | longest | times run | longest run |", flush=True)
    for name, script in (HOSTILE | LARGE_TEXTS).items():
        if only and name not in only:
            continue
        with Measured("kv", command) as server, Client(server.port) as hostile:
            ends, lasted = multiprocessing.Event(), multiprocessing.Queue()

            def torture():
                times = []
                while not ends.is_set():
                    text = script(time.time_ns()) if callable(script) else script
                    begin = time.perf_counter()
                    hostile.call("EVAL", text, "0")
                    times.append(time.perf_counter() - begin)
                lasted.put(times)

            for _ in range(500):      # what is compiled when it first runs is not the script's doing
                server.ask("EVAL", "return loadstring('return ' .. #cjson.encode({1}))()", 0)
            process = multiprocessing.Process(target=torture)     # a thread would hold this one up
            process.start()
            times, end = [], time.monotonic() + seconds
            while time.monotonic() < end:
                start = time.perf_counter()
                server.ask("SET", "key", "value")
                times.append((time.perf_counter() - start) * 1000)
                time.sleep(0.0002)
            ends.set()
            lasted = lasted.get()
            process.join()
        times.sort()
        print(f"| {name} | {times[len(times) * 999 // 1000]:.1f} | {times[-1]:.1f} | {len(lasted)} "
              f"| {max(lasted) * 1000:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kv", required=True)
    parser.add_argument("--garnet")
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--parts", default="calls,programs,new,workers")
    parser.add_argument("--only", default="", help="names of calls or programs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    parts, only = options.parts.split(","), [name for name in options.only.split(",") if name]
    os.sched_setaffinity(0, {int(CLIENT_CPU)})
    folder = tempfile.mkdtemp()
    commands = {"redis": [options.redis, "--save", "", "--dir", folder],
                "kv": [options.kv, "--worker-threads", "1", "--script-time-limit", "0"]}
    if options.garnet:
        commands["garnet"] = [options.garnet, "--lua"]
    servers = []
    try:
        servers = [Measured(name, command) for name, command in commands.items()]

        def compare(label, measure, unit, ours):
            results = {server.name: [] for server in servers if ours or server.name != "garnet"}
            for _ in range(options.rounds):
                for server in servers:
                    if server.name in results:
                        results[server.name].append(measure(server))
            medians = {name: statistics.median(values) for name, values in results.items()}
            ratios = "".join(f" | {medians['kv'] / medians[name]:.2f}" for name in medians if name != "kv")
            figures = " | ".join(f"{name} {value:,.{0 if value > 1000 else 2}f}" for name, value in medians.items())
            print(f"| {label} | {figures} {unit}{ratios} |", flush=True)

        if "calls" in parts:
            for depth in (1, 100):
                for name, script in CALLS.items():
                    if not only or name in only:
                        compare(f"{name} {depth} x {CLIENTS}",
                                lambda server: rate(server, name, script, depth, options.seconds), "/s", True)
        if "programs" in parts:
            for name, script in PROGRAMS.items():
                if not only or name in only:
                    compare(name, lambda server: program(server, script, options.seconds), "ms", False)
        if "new" in parts:
            compare("EVAL of a new text of 32 lines", lambda server: new_texts(server)[0], "us", False)
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    if "waits" in parts:
        waits(options.kv, only, options.seconds)
    if "workers" in parts:
        os.sched_setaffinity(0, {0, 1})
        workers(options.kv, max(3.0, options.seconds))


main()
