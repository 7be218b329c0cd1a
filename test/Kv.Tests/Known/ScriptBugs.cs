using System.Globalization;
using System.Text;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Known;

/// <summary>What scripts have done to servers of this kind: L01 to L09 of the catalogue.</summary>
public sealed class ScriptBugs
{
    private const string Endless = "while true do end",
        EndlessInPcall = "while true do pcall(function() while true do end end) end";

    /// <summary>All that a script can reach from its globals, a line each, in order.</summary>
    private const string Walk = """
        local lines, seen = {}, {}
        local function visit(value, path)
            if type(value) ~= 'table' or seen[value] then return end
            seen[value] = true
            local names = {}
            for name in pairs(value) do names[#names + 1] = tostring(name) end
            table.sort(names)
            for _, name in ipairs(names) do
                local inner = value[name] if inner == nil then inner = value[tonumber(name)] end
                lines[#lines + 1] = path .. name .. ' ' .. type(inner)
            end
            for _, name in ipairs(names) do visit(value[name], path .. name .. '.') end
            visit(getmetatable(value), path .. 'metatable.')
        end
        visit(_G, '')
        visit(getmetatable(''), 'text.metatable.')
        return table.concat(lines, '\n')
        """;

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_L01_a_script_without_end_is_ended_by_the_limit_of_time(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--script-time-limit", "100", "--busy-reply-threshold", "0");
        using var client = kv.Connect();
        foreach (string script in (string[])[Endless, EndlessInPcall])
        {
            foreach (string[] keys in (string[][])[["0"], ["1", "k"]])
            {
                string answer = Eval(client, [script, .. keys]);
                Assert.Contains("ERR", answer, StringComparison.Ordinal);
                Assert.Contains("script ran longer than script-time-limit", answer, StringComparison.Ordinal);
            }
        }

        Assert.Equal("+PONG", client.Command("PING").ToString());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_L01_only_who_needs_its_keys_is_told_BUSY_and_only_what_it_has_not_changed_lets_it_be_killed(
        string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--script-time-limit", "0", "--busy-reply-threshold", "50");
        using RespClient runs = kv.Connect(), asks = kv.Connect();
        foreach (string script in (string[])[Endless, EndlessInPcall])
        {
            runs.Send(RespText.Encode(Words("EVAL", script, "1", "its")));
            AwaitBusy(asks);
            Assert.Equal("+OK", asks.Command("SET other 1").ToString());
            Assert.Equal("\"1\"", asks.Command("GET other").ToString());
            Assert.StartsWith("-BUSY", asks.Command("SET its 1").ToString(), StringComparison.Ordinal);
            Assert.Equal("+OK", asks.Command("SCRIPT KILL").ToString());
            Assert.StartsWith("-ERR Script killed by user", runs.Read().ToString(), StringComparison.Ordinal);
            Assert.Equal("$-1", asks.Command("GET its").ToString());
        }

        runs.Send(RespText.Encode(Words("EVAL", "redis.call('SET', KEYS[1], 'x') " + EndlessInPcall, "1", "its")));
        AwaitBusy(asks);
        Assert.StartsWith("-UNKILLABLE", asks.Command("SCRIPT KILL").ToString(), StringComparison.Ordinal);
        Assert.Equal("\"1\"", asks.Command("GET other").ToString());
    }

    [Theory]
    [InlineData("local s = 'x' while true do s = s .. s end", "not enough memory")]
    [InlineData("local t = {} while true do t[#t + 1] = {} end", "not enough memory")]
    [InlineData("local t = {} while true do t = {t, t} end", "not enough memory")]
    [InlineData("local n = 0 local t = {} while true do n = n + 1 t['key' .. n] = n end", "not enough memory")]
    [InlineData("return string.rep('x', 2^31 - 1)", "not enough memory")]
    [InlineData("return ('x'):rep(2^20):gsub('x', ('y'):rep(2^20))", "not enough memory")]
    [InlineData("return ('x'):rep(2^12):gsub('x', function() return ('y'):rep(2^20) end)", "not enough memory")]
    [InlineData("return table.concat({('x'):rep(2^22), ('y'):rep(2^22), 'z'}, ('-'):rep(2^23))", "not enough memory")]
    [InlineData("return unpack({1}, -2, 2147483647)", "too many results to unpack")]
    [InlineData("local t = {} while true do t[#t + 1] = coroutine.create(function() end) end", "not enough memory")]
    [InlineData("local t = {} for i = 1, 2^16 do t[i] = ('x'):rep(100) .. i end while true do t = {cjson.encode(t), "
        + "cmsgpack.pack(t), t} end", "not enough memory")]
    [InlineData("local t = {} while true do t[#t + 1] = redis.call('GET', KEYS[1]) end", "not enough memory")]
    [InlineData("local function f() return 1 + f() end return f()", "stack overflow")]
    [InlineData("return ('a'):rep(40):find(('a-'):rep(30) .. 'b')", "pattern matching takes too long")]
    public void Known_L02_a_script_that_wants_too_much_ends_with_an_error_that_says_what(string script, string error)
    {
        using var kv = KvInstance.Start("--worker-threads", "1", "--script-memory-limit", "4mb",
            "--script-time-limit", "0", "--busy-reply-threshold", "0");
        using var client = kv.Connect();
        client.Ok($"SET k {new string('v', 10_000)}");
        long before = MachineBytes();
        for (int i = 0; i < 2; i++)
        {
            Assert.Contains(error, Eval(client, script, "1", "k"), StringComparison.Ordinal);
            // In pcall it is the same: what it holds is let go of, or it has its end.
            Eval(client, $"return tostring(select(2, pcall(function() {script} end)))", "1", "k");
        }

        Assert.Equal(":1", Eval(client, "return 1", "0"));
        Assert.InRange(MachineBytes(), 0, before + (1 << 20));

        long MachineBytes() => long.Parse(client.Info("used_memory_lua"), CultureInfo.InvariantCulture);
    }

    // The larger the processor's cache, the fewer they would be, and the more each had to move while all workers stand.
    [Fact]
    public void Known_L02_collections_are_many_and_small()
    {
        using var kv = KvProcess.Start("--worker-threads", "1");
        using var client = kv.Connect();
        long before = Collections();
        Eval(client, "for i = 1, 1000000 do local t = {} end", "0");
        Assert.InRange(Collections(), before + 15, long.MaxValue);      // of 88 MB that it makes, at 4 MB each

        long Collections() => long.Parse(client.Info("kv_gc_collections"), CultureInfo.InvariantCulture);
    }

    [Fact]
    public void Known_L02_the_server_gives_back_what_such_scripts_took()
    {
        using var kv = KvProcess.Start("--worker-threads", "2", "--script-memory-limit", "8mb");
        using var client = kv.Connect();
        string[] scripts =
        [
            "local s = 'x' while true do s = s .. s end", "local t = {} while true do t[#t + 1] = {} end",
            "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
        ];
        foreach (string script in scripts) Eval(client, script, "0");
        long before = Used();
        for (int i = 0; i < 6; i++)
            foreach (string script in scripts) Assert.StartsWith("-ERR", Eval(client, script, "0"),
                StringComparison.Ordinal);
        // Many limits have gone through it; what the collector has not come to yet is a few.
        Eventually.Holds(() => Used() < before + (40 << 20), () => $"{Used()} bytes, {before} before");

        long Used() => long.Parse(client.Info("used_memory"), CultureInfo.InvariantCulture);
    }

    [Fact]
    public void Known_L03_all_that_a_script_can_reach_is_what_the_reference_shows_it()
    {
        string golden = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Known", "ScriptGlobals.txt"))
            .ReplaceLineEndings("\n").TrimEnd('\n');
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        foreach (var server in (TestServer[])[redis, kv])
        {
            using var client = server.Connect();
            string seen = client.Command(Words("EVAL", Walk, "0")).String;
            // There a function of Lua's own; here the machine does what it does.
            if (server == kv) golden = golden.Replace("__redis__err__handler function\n", "", StringComparison.Ordinal);
            Assert.True(golden == seen, $"{server.Name}:\n{seen}");
        }
    }

    [Fact]
    public void Known_L03_there_is_no_way_out()
    {
        string[] scripts =
        [
            "return debug == nil", "return io.open('/etc/passwd')", "return os.execute('ls')",
            "return os.getenv('HOME')", "return package.loadlib('/lib/libc.so', 'system')", "return require('x')",
            "return dofile('/etc/passwd')", "return loadfile('/etc/passwd')", "return print('x')",
            "setfenv(1, {}) return x", "return getfenv(0)", "return newproxy(true)",
            "return tostring(loadstring('\\27Lua'))", "return load(function() return nil end)()",
        ];
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        foreach (string script in scripts) Assert.Equal(Eval(theirs, script, "0"), Eval(ours, script, "0"));
    }

    [Fact]
    public void Known_L04_a_script_cannot_change_the_next_one()
    {
        string[] scripts =
        [
            "getmetatable('').__index = function() return 'x' end",
            "getmetatable('').__add = function() return 'x' end", "string.format = nil", "string.mine = 1",
            "table.mine = 1", "math.random = function() return 4 end", "cjson.null = 1", "redis.call = nil",
            "redis.mine = 1", "_G.mine = 1", "mine = 1", "function mine() end", "rawset(_G, 'mine', 1)",
            "rawset(string, 'mine', 1)", "rawset(getmetatable(''), 'mine', 1)",
            "setmetatable(_G, {__index = function() return 1 end})", "setmetatable(string, {})",
            "getmetatable(_G).__index = function() return 1 end", "table.insert(_G, 1)",
            "table.sort(_G) table.insert(string, 'x')",
        ];
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start("--worker-threads", "1");
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        string before = Eval(ours, Walk, "0");
        foreach (string script in scripts)
        {
            string answer = Eval(ours, script, "0");
            Assert.StartsWith("-ERR", answer, StringComparison.Ordinal);
            Assert.Equal(Eval(theirs, script, "0"), answer);
            Assert.Equal(before, Eval(ours, Walk, "0"));
            Assert.Equal("$-1", Eval(ours, "return rawget(_G, 'mine')", "0"));
            Assert.Equal("\"1 ok\"", Eval(ours, "return string.format('%d %s', 1, ('ok'):lower())", "0"));
        }
    }

    [Fact]
    public void Known_L04_a_script_that_keeps_a_function_for_later_keeps_it_for_itself()
    {
        using var kv = KvInstance.Start("--worker-threads", "1");
        using var client = kv.Connect();
        Eval(client,
            "local t = KEYS t.mine = 1 ARGV.mine = 2 setmetatable(KEYS, {__index = function() return 'x' end})",
            "1", "k", "v");
        Assert.Equal("[]",
            Eval(client, "return {KEYS.mine, ARGV.mine, getmetatable(KEYS), KEYS[9]}", "1", "k", "v"));
        Eval(client, "cjson.encode_max_depth(1) cjson.encode_sparse_array(true, 1, 1)", "0");
        Assert.Equal("\"[[[1]]]\"", Eval(client, "return cjson.encode({{{1}}})", "0"));
        Eval(client, "math.randomseed(7)", "0");
        Eval(client, "coroutine.wrap(function() coroutine.yield(1) end)()", "0");
        Assert.Equal(":1", Eval(client, "return 1", "0"));
    }

    public static TheoryData<string, string> Texts => new()
    {
        { "return [" + new string('=', 1 << 20) + "[x]" + new string('=', 1 << 20) + "]", "\"x\"" },
        { "return [" + new string('=', 1 << 20) + "[x", "-ERR Error compiling script" },
        { "return [" + new string('=', 1 << 20), "-ERR Error compiling script" },
        { new string('\n', 1_000_000) + "return 1", ":1" },
        { new string('\n', 1_000_000) + "error('x')", "-ERR user_script:1000001: x" },
        { "--" + new string('[', 1 << 20), "-ERR Error compiling script" },
        { "return " + new string('(', 1 << 18) + "1" + new string(')', 1 << 18), "-ERR Error compiling script" },
        { "return " + new string('{', 1 << 18) + new string('}', 1 << 18), "-ERR Error compiling script" },
        { string.Concat(Enumerable.Repeat("do ", 1 << 17)), "-ERR Error compiling script" },
        { string.Concat(Enumerable.Repeat("if x then ", 1 << 17)), "-ERR Error compiling script" },
        { string.Concat(Enumerable.Repeat("local function f() ", 1 << 15)), "-ERR Error compiling script" },
        { "return " + new string('-', 1 << 18).Replace("-", "- ", StringComparison.Ordinal) + "1",
            "-ERR Error compiling script" },
        { "local a = " + string.Concat(Enumerable.Repeat("1 .. ", 1 << 16)) + "1", "-ERR Error compiling script" },
        { string.Concat(Enumerable.Range(0, 300).Select(i => $"local v{i} = {i} ")), "-ERR Error compiling script" },
        { "return ('x'):rep(100000):find('%f[x]' .. ('%f[x]'):rep(10000))", "" },
        { "return ('('):rep(100000):find('%b()')", "" }, { "return ('x'):find('%b')", "-ERR" },
        { "return ('x'):find('%f')", "-ERR" }, { "return ('x'):find('[')", "-ERR" },
        { "return ('x'):find('%')", "-ERR" }, { "return ('x'):find(('('):rep(1000))", "-ERR" },
        { "return bit.tohex(1, -2^31)", "\"00000001\"" }, { "return bit.tohex(1, 2^31)", "\"00000001\"" },
        { "return cjson.encode(loadstring('return ' .. ('{'):rep(190) .. ('}'):rep(190))())", "" },
        { "local t = {} for i = 1, 2000 do t = {t} end return cjson.encode(t)", "-ERR" },
        { "return cjson.decode(('['):rep(100000))", "-ERR" }, { "return cjson.decode(('['):rep(1000) .. '1')", "-ERR" },
        { "local t = {} t[1] = t return cjson.encode(t)", "-ERR" },
        { "return cjson.encode({[2^30] = 1})", "-ERR" }, { "return cjson.encode(function() end)", "-ERR" },
        { "return cmsgpack.unpack(('\\145'):rep(100000))", "-ERR" },
        { "return cmsgpack.unpack('\\221\\255\\255\\255\\255')", "-ERR" },
        { "return cmsgpack.unpack('\\219\\255\\255\\255\\255x')", "-ERR" },
        { "local t = {} t[1] = t return #cmsgpack.pack(t)", "" },
        { "return struct.pack('>I2147483647', 1)", "-ERR" }, { "return struct.unpack('c4294967296', 'x')", "-ERR" },
        { "return struct.pack('!2147483648i', 1)", "-ERR" }, { "return struct.unpack('>i4', 'x', 2^31)", "-ERR" },
        { "return struct.size('c2147483647c2147483647')", "" },
    };

    // What is too long for a line is shortened where it is shown: the case is known by its place.
    [Fact]
    public void Known_L05_texts_and_arguments_that_have_broken_parsers_end_in_an_answer()
    {
        using var kv = KvInstance.Start("--worker-threads", "1", "--script-memory-limit", "32mb");
        using var client = kv.Connect();
        foreach (var row in Texts)
        {
            string script = row.Data.Item1, expected = row.Data.Item2, answer = Eval(client, script, "0");
            string name = script.Length < 100 ? script : $"{script[..40]}... of {script.Length}";
            Assert.True(answer.StartsWith(expected, StringComparison.Ordinal), $"{name}: {answer}");
            Assert.False(answer.Contains("internal", StringComparison.Ordinal), $"{name}: {answer}");
        }

        Assert.Equal(":1", Eval(client, "return 1", "0"));
    }

    [Fact]
    public void Known_L06_replies_that_are_nested_too_deeply_are_an_error_and_others_what_the_reference_says()
    {
        string[] scripts =
        [
            "local t = {} for i = 1, 100000 do t = {t} end return t",
            "local t = {} t[1] = t return t",
            "return 1e300", "return -1e300", "return 0/0", "return 1/0", "return -1/0", "return -0", "return 2^53",
            "return 2^63", "return -2^63", "return {1, nil, 3}", "return {nil}", "return {[1] = 1, [3] = 3}",
            "return {1, x = 2, 3}", "return {true, false}", "return {err = 'E x'}", "return {ok = 'fine'}",
            "return {err = 1}", "return {ok = {}}", "return {double = 1.5}", "return {double = 1/0}",
            "return {double = -1/0}", "return {double = -0.0}", "return {map = {a = 1}}",
            "return {map = {[1] = {map = {b = 2}}}}", "return {set = {a = true}}",
            "return {big_number = '12345678901'}",
            "return {big_number = 'x\\r\\ny'}", "return {verbatim_string = {format = 'txt', string = 'x'}}",
            "return {verbatim_string = {format = 'toolong', string = 'x'}}", "return {verbatim_string = 1}",
            "return {verbatim_string = {format = 'ab', string = 'x'}}", "return {verbatim_string = {string = 'x'}}",
            "return {verbatim_string = {format = 'mkd', string = '# x'}}", "return {verbatim_string = {format = '', "
                + "string = ''}}", "return {verbatim_string = {format = 'a\\0c', string = 'x'}}",
            "return {verbatim_string = {format = 1, string = 2}}", "return {verbatim_string = {format = 'txt'}}",
        ];
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        foreach (int version in (int[])[2, 3])
        {
            using RespClient theirs = redis.Connect(), ours = kv.Connect();
            foreach (var client in (RespClient[])[theirs, ours]) client.Ok($"HELLO {version}");
            foreach (string script in scripts.Skip(2))
            {
                string expected = Eval(theirs, script, "0"), answer = Eval(ours, script, "0");
                Assert.True(expected == answer, $"{script}: {expected}, here {answer}");
            }

            foreach (string script in scripts.Take(2))
                Assert.Contains("stack limit", Eval(ours, script, "0"), StringComparison.Ordinal);
            Assert.Equal("+PONG", ours.Command("PING").ToString());
        }
    }

    [Fact]
    public void Known_L07_what_a_script_may_not_call_is_refused_as_the_reference_refuses_it()
    {
        string[] calls =
        [
            "{}", "", "$-1", "true", "1", "''", "'SET'", "'SET', 'k', {}", "'SET', 'k', nil", "'MULTI'", "'EXEC'",
            "'WATCH', 'k'", "'SUBSCRIBE', 'c'", "'PSUBSCRIBE', 'c'", "'EVAL', 'return 1', 0", "'SCRIPT', 'FLUSH'",
            "'FCALL', 'f', 0", "'CLIENT', 'ID'", "'CLIENT', 'PAUSE', 100", "'CONFIG', 'GET', 'x'",
            "'DEBUG', 'SLEEP', 0",
            "'SHUTDOWN'", "'AUTH', 'x'", "'HELLO', 3", "'RESET'", "'QUIT'",
            "'NOSUCH'",
        ];
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        foreach (string call in calls)
        {
            foreach (string command in (string[])["EVAL", "EVAL_RO"])
            {
                byte[][] words = Words(command, $"return redis.call({call})", "0");
                string expected = theirs.Command(words).ToString(), answer = ours.Command(words).ToString();
                Assert.True(expected == answer, $"{command} {call}: {expected}, here {answer}");
            }
        }

        // As in 7.2, and unlike 7.0, they act as if their time was over.
        foreach (string call in (string[])["'BLPOP', 'nokey', 0", "'BRPOPLPUSH', 'nokey', 'b', 0",
            "'BLMOVE', 'nokey', 'b', 'LEFT', 'LEFT', 0", "'BZPOPMIN', 'nokey', 0",
            "'XREAD', 'BLOCK', 0, 'STREAMS', 'nokey', '$'"])
            Assert.Equal("$-1", Eval(ours, $"return redis.call({call})", "0"));
        Assert.Equal(":0", Eval(ours, "return redis.call('WAIT', 1, 0)", "0"));
        foreach (string call in (string[])["'SET', 'k', 1", "'DEL', 'k'", "'PUBLISH', 'c', 'x'", "'SPUBLISH', 'c', 'x'",
            "'PFCOUNT', 'k'", "'SORT', 'k', 'STORE', 'l'", "'SORT_RO', 'k'", "'GETEX', 'k'",
            "'XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', 'k', '>'"])
        {
            byte[][] words = Words("EVAL_RO", $"return redis.pcall({call})", "0");
            Assert.Equal(theirs.Command(words).ToString(), ours.Command(words).ToString());
        }
    }

    [Fact]
    public void Known_L09_KEYS_and_ARGV_are_those_of_the_call_however_many_the_last_one_had()
    {
        const string tell = "return {#KEYS, #ARGV, table.concat(KEYS, ','), table.concat(ARGV, ','), KEYS[#KEYS + 1] "
            + "== nil, ARGV[#ARGV + 1] == nil, rawequal(KEYS[0], nil)}";
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start("--worker-threads", "1");
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        int[] counts = [0, 1, 5, 100, 2, 0, 3000, 1, 0, 7];
        foreach (int keys in counts)
        {
            foreach (int arguments in counts)
            {
                byte[][] words = Words(["EVAL", tell, $"{keys}", .. Enumerable.Range(0, keys).Select(i => $"k{i}"),
                    .. Enumerable.Range(0, arguments).Select(i => $"a{i}")]);
                Assert.Equal(theirs.Command(words).ToString(), ours.Command(words).ToString());
            }
        }
    }

    [Fact]
    public void Known_L09_a_hash_is_found_in_either_case_and_junk_is_not()
    {
        const string known = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
            junk = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
        string large = known.ToUpperInvariant();
        string[][] commands =
        [
            ["EVALSHA", "", "0"], ["EVALSHA", known, "0"], ["EVALSHA", large, "0"], ["EVALSHA", known[1..], "0"],
            ["EVALSHA", known + "b", "0"], ["EVALSHA", junk, "0"], ["EVALSHA", known, "1"], ["EVALSHA", known, "-1"],
            ["EVALSHA", known, "99999999999999999999"], ["EVALSHA", known, "1x"], ["SCRIPT", "EXISTS"],
            ["SCRIPT", "EXISTS", "", "junk", known, large, junk],
        ];
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        foreach (var client in (RespClient[])[theirs, ours]) client.Command(Words("SCRIPT", "LOAD", "return 1"));
        foreach (string[] command in commands)
            Assert.Equal(theirs.Command(Words(command)).ToString(), ours.Command(Words(command)).ToString());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_T07_what_one_script_pushes_serves_those_who_wait_in_their_order_and_all_in_one_step(
        string transport)
    {
        string[] scripts =
        [
            "redis.call('RPUSH', KEYS[1], 'a1', 'a2') redis.call('RPUSH', KEYS[2], 'b1') "
                + "redis.call('LPUSH', KEYS[1], 'a0') redis.call('RPUSH', KEYS[2], 'b2')",
            // Its text does not show its keys: alone.
            "local a = 'a' redis.call('RPUSH', a, 'a1', 'a2') redis.call('RPUSH', KEYS[2], 'b1') "
                + "redis.call('LPUSH', a, 'a0') redis.call('RPUSH', KEYS[2], 'b2')",
        ];
        foreach (string script in scripts)
        {
            using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
            using var other = kv.Connect();
            var waiting = new List<RespClient>();
            for (int i = 0; i < 8; i++)
            {
                waiting.Add(kv.Connect());
                waiting[i].Send(i % 2 == 0 ? "BLPOP a b 0" : "BLPOP b a 0");
                kv.AwaitBlocked(i + 1);
            }

            Assert.Equal("$-1", Eval(other, script, "2", "a", "b"));
            // Nothing is left when the script is answered.
            Assert.Equal(":0", other.Ok("EXISTS a b").ToString());
            Assert.Equal(3, kv.Server.Blocked.Count);
            string[] expected =
                ["[\"a\" \"a0\"]", "[\"a\" \"a1\"]", "[\"a\" \"a2\"]", "[\"b\" \"b1\"]", "[\"b\" \"b2\"]"];
            for (int i = 0; i < 5; i++) Assert.Equal(expected[i], waiting[i].Read().ToString());
            waiting.ForEach(client => client.Dispose());
        }
    }

    private static void AwaitBusy(RespClient asks) => Eventually.Holds(
        () => asks.Command("GET its").ToString().StartsWith("-BUSY", StringComparison.Ordinal), () => "never busy",
        60_000);

    private static string Eval(RespClient client, params string[] words) =>
        client.Command(Words(["EVAL", .. words])).ToString();

    private static byte[][] Words(params string[] words) => Array.ConvertAll(words, Encoding.Latin1.GetBytes);
}
