using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Scripts beside other clients: at one instant, within their limits, gone when they are ended.</summary>
public sealed class ScriptTests
{
    private const string Add = "\"local n=redis.call('GET',KEYS[1]) redis.call('SET',KEYS[1],(n or 0)+1) "
        + "redis.call('INCR','total') return n\"";

    [Theory, InlineData("epoll"), InlineData("pipelines")]
    public async Task Nobody_sees_half_of_a_script_that_uses_keys_it_has_not_declared(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        const int clients = 8, times = 200;
        await Task.WhenAll(Enumerable.Range(0, clients).Select(id => Task.Run(() =>
        {
            using var client = kv.Connect();
            for (int i = 0; i < times; i++)
            {
                client.Command($"EVAL {Add} 1 k{id % 3}");
                if (i % 10 != 0) continue;
                // The sum of the parts is the whole, whenever one looks.
                var seen = client.Command(
                    "EVAL \"return (redis.call('GET','k0') or 0)+(redis.call('GET','k1') or 0)+(redis.call('GET','k2') "
                    + "or 0)-(redis.call('GET','total') or 0)\" 0");
                Assert.Equal(":0", seen.ToString());
            }
        }, TestContext.Current.CancellationToken)));
        using var last = kv.Connect();
        Assert.Equal($"\"{clients * times}\"", last.Command("GET total").ToString());
        Assert.NotEqual("0", last.Info("kv_scripts_alone"));
    }

    // Tables and strings that a script was given are used again for the next one.
    [Fact]
    public void What_a_script_does_to_what_it_was_given_is_not_seen_by_the_next()
    {
        using var kv = KvInstance.Start("--worker-threads", "1");
        using var client = kv.Connect();
        const string spoil = "\"KEYS.x = 1 KEYS[9] = 2 ARGV.y = {} setmetatable(ARGV, {__index = function() return "
            + "'leak' end, __newindex = function() end}) for i = 1, 6000 do KEYS[i] = 'z' .. i end "
            + "local reply = redis.call('SET', 'k', 'v') reply.x = 'leak' reply[1] = 2 setmetatable(reply, ARGV) "
            + "local list = redis.call('MGET', 'k', 'none') list.x = 'leak' setmetatable(list, {__index = list}) "
            + "return {#KEYS, reply.x, list.x}\"";
        const string look = "\"local function all(t) local text = tostring(getmetatable(t)) for k, v in pairs(t) do "
            + "text = text .. ' ' .. tostring(k) .. '=' .. tostring(v) end return text end local reply = "
            + "redis.call('SET', KEYS[1], ARGV[1]) local list = redis.call('MGET', KEYS[1], KEYS[2]) "
            + "return {all(KEYS), #KEYS, all(ARGV), #ARGV, all(reply), all(list), tostring(KEYS.x), "
            + "tostring(ARGV.y)}\"";
        for (int round = 0; round < 20; round++)
        {
            client.Ok($"EVAL {spoil} {round % 3} a{new string('b', round * 7)} c d e");
            string first = "k" + new string('x', round * 9), second = "none" + round,
                value = new('v', 99 - (round * 5));
            string seen = string.Join('|', client.Ok($"EVAL {look} 2 {first} {second} {value}").Items!
                .Select(item => item.ToString().Trim('"')));
            Assert.Equal($"nil 1={first} 2={second}|:2|nil 1={value}|:1|nil ok=OK|nil 1={value} 2=false|nil|nil", seen);
        }
    }

    // By keys that its callers declare.
    private const string Transfer = "\"local from, to = KEYS[1], KEYS[2] local n = tonumber(redis.call('GET', from)) "
        + "if n < tonumber(ARGV[1]) then return 0 end "
        + "redis.call('DECRBY', from, ARGV[1]) if ARGV[2] then for i = 1, tonumber(ARGV[2]) do end end "
        + "redis.call('INCRBY', to, ARGV[1]) return 1\"";

    /// <summary>Moves from one account to another, by some clients at once: the sum of all stays.</summary>
    /// <param name="call">Runs the script or function.</param>
    private static async Task TransferAsync(KvInstance kv, RespClient admin, string call)
    {
        const int clients = 6, times = 150, accounts = 5, each = 1000;
        for (int i = 0; i < accounts; i++) admin.Ok($"SET {{a}}{i} {each}");
        await Task.WhenAll(Enumerable.Range(0, clients).Select(id => Task.Run(() =>
        {
            using var client = kv.Connect();
            var random = new Random(Seed.NewRandom().Next() + id);
            for (int i = 0; i < times; i++)
            {
                int from = random.Next(accounts), to = (from + 1 + random.Next(accounts - 1)) % accounts;
                // Some take several turns, with what they hold.
                string turns = random.Next(10) == 0 ? " 300000" : "";
                client.Ok($"{call} 2 {{a}}{from} {{a}}{to} {random.Next(50)}{turns}");
                var seen = client.Ok("MGET {a}0 {a}1 {a}2 {a}3 {a}4");
                Assert.Equal(accounts * each, seen.Items!.Sum(item => int.Parse(item.String,
                    System.Globalization.CultureInfo.InvariantCulture)));
            }
        }, TestContext.Current.CancellationToken)));
    }

    [Theory, InlineData("epoll"), InlineData("pipelines")]
    public async Task Scripts_that_declare_what_they_write_run_beside_each_other(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var admin = kv.Connect();
        await TransferAsync(kv, admin, $"EVAL {Transfer}");
        Assert.Equal("0", admin.Info("kv_scripts_alone"));
    }

    // The same by a function, which calls functions of its library with the keys that it was given.
    private const string Bank = """
        #!lua name=bank
        local function balance(key) return tonumber(redis.call('GET', key)) end
        local function move(from, to, sum) redis.call('DECRBY', from, sum) redis.call('INCRBY', to, sum) end
        redis.register_function('transfer', function(keys, args)
            if balance(keys[1]) < tonumber(args[1]) then return 0 end
            move(keys[1], keys[2], args[1])
            if args[2] then for i = 1, tonumber(args[2]) do end end
            return 1
        end)
        redis.register_function('report', function() return redis.call('KEYS', '*') end)
        """;

    [Theory, InlineData("epoll"), InlineData("pipelines")]
    public async Task Functions_that_declare_what_they_write_run_beside_each_other(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var admin = kv.Connect();
        Assert.Equal("\"bank\"", admin.Command("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(),
            System.Text.Encoding.Latin1.GetBytes(Bank)).ToString());
        await TransferAsync(kv, admin, "FCALL transfer");
        Assert.Equal("0", admin.Info("kv_scripts_alone"));
        admin.Ok("FCALL report 0");
        Assert.Equal("1", admin.Info("kv_scripts_alone"));
    }

    // Those that have to wait until all others stand still are in steps, in the middle of their pipelines.
    [Theory, InlineData("epoll"), InlineData("pipelines")]
    public async Task Pipelines_of_scripts_that_write_are_run_whole_and_in_order(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        const int clients = 16, times = 60, depth = 33;      // one that waits, and a whole window behind it
        await Task.WhenAll(Enumerable.Range(0, clients).Select(id => Task.Run(() =>
        {
            using var client = kv.Connect();
            byte[] one = RespText.Encode(
                $"EVAL \"return redis.call('INCR',KEYS[1])+0*redis.call('INCR','all')\" 1 k{id}");
            byte[] wire = [.. Enumerable.Repeat(one, depth).SelectMany(bytes => bytes)];
            for (int i = 0; i < times; i++)
            {
                client.Send(wire);
                for (int n = 1; n <= depth; n++) Assert.Equal($":{(i * depth) + n}", client.Read().ToString());
            }
        }, TestContext.Current.CancellationToken)));
        using var last = kv.Connect();
        Assert.Equal($"\"{clients * times * depth}\"", last.Command("GET all").ToString());
    }

    [Fact]
    public void Machines_of_many_scripts_that_ran_at_once_are_given_back()
    {
        const int clients = 40, argumentsBytes = 1024;
        using var kv = KvInstance.Start("--worker-threads", "1", "--script-time-limit", "0");
        var all = Enumerable.Range(0, clients).Select(_ => kv.Connect()).ToArray();
        long Round()
        {
            // Each takes several turns, with what it called a command with.
            for (int i = 0; i < clients; i++)
                all[i].Send("EVAL \"redis.call('ECHO','x') for i=1,1000000 do end return 1\" 0");
            foreach (var client in all) Assert.Equal(":1", client.Read().ToString());
            return kv.Server.Store.UsedBytes;
        }

        for (int i = 0; i < 3; i++) Round();
        long before = Round();
        for (int i = 0; i < 3; i++) Round();
        long after = Round();
        foreach (var client in all) client.Dispose();
        Assert.InRange(after - before, long.MinValue, clients * argumentsBytes);
    }

    [Fact]
    public void A_pushed_element_reaches_who_waits_for_it()
    {
        using var kv = KvInstance.Start();
        using RespClient waiting = kv.Connect(), client = kv.Connect();
        kv.Block(waiting, "BLPOP q 0");
        Assert.Equal(":1", client.Command("EVAL \"return redis.call('RPUSH',KEYS[1],'x')\" 1 q").ToString());
        Assert.Equal("[\"q\" \"x\"]", waiting.Read().ToString());
    }

    [Fact]
    public void A_script_in_a_transaction_is_a_part_of_it()
    {
        using var kv = KvInstance.Start();
        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Command("WATCH w");
        client.Command("MULTI");
        client.Command("SET a 1");
        client.Command("EVAL \"return redis.call('INCRBY','a',ARGV[1])\" 0 41");
        Assert.Equal("[+\"OK\" :42]", client.Command("EXEC").ToString());
        client.Command("WATCH a");
        other.Command("EVAL \"return redis.call('INCR',KEYS[1])\" 1 a");
        client.Command("MULTI");
        client.Command("GET a");
        Assert.True(client.Command("EXEC").IsNull);
    }

    [Theory]
    [InlineData("\"while true do end\" 0"), InlineData("\"while true do end\" 1 k"),
        InlineData("\"while true do pcall(error,'x') end\" 1 k")]
    [InlineData("\"local s='x' while true do s=s..s end\" 0")]
    [InlineData("\"local function f() return pcall(f) end f() while true do end\" 0")]
    public void A_script_without_end_is_ended_and_others_go_on(string script)
    {
        using var kv = KvInstance.Start("--script-time-limit", "100", "--worker-threads", "2");
        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Send($"EVAL {script}");
        Assert.Equal("+PONG", other.Command("PING").ToString());
        string error = client.Read().ToString();
        Assert.True(error.Contains("script-time-limit", StringComparison.Ordinal)
            || error.Contains("not enough memory", StringComparison.Ordinal), error);
        Assert.Equal("+OK", client.Command("SET k v").ToString());
    }

    [Fact]
    public void SCRIPT_KILL_ends_what_has_changed_nothing()
    {
        using var kv = KvInstance.Start("--script-time-limit", "0", "--worker-threads", "2");
        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Send("EVAL \"while true do end\" 1 k");
        string answer;
        // Ends: the script is known to be running from its second turn on.
        do answer = other.Command("SCRIPT KILL").ToString();
        while (answer.StartsWith("-NOTBUSY", StringComparison.Ordinal));
        Assert.Equal("+OK", answer);
        Assert.Contains("Script killed by user with SCRIPT KILL", client.Read().ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void FUNCTION_KILL_ends_the_function_that_FUNCTION_STATS_names()
    {
        const string text = "#!lua name=loops\nredis.register_function('loop', function() while true do end end)";
        using var kv = KvInstance.Start("--script-time-limit", "0", "--worker-threads", "2");
        using RespClient client = kv.Connect(), other = kv.Connect();
        Assert.Equal("\"loops\"", client.Command("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(),
            System.Text.Encoding.ASCII.GetBytes(text)).ToString());
        client.Send("FCALL loop 1 k a");
        string stats;
        // Ends: the function is known to be running from its second turn on.
        do stats = other.Command("FUNCTION STATS").ToString();
        while (!stats.Contains("\"name\" \"loop\"", StringComparison.Ordinal));
        Assert.Contains("[\"FCALL\" \"loop\" \"1\" \"k\" \"a\"]", stats, StringComparison.Ordinal);
        Assert.StartsWith("-NOTBUSY", other.Command("SCRIPT KILL").ToString(), StringComparison.Ordinal);
        Assert.Equal("+OK", other.Command("FUNCTION KILL").ToString());
        Assert.Contains("Script killed by user with SCRIPT KILL", client.Read().ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Functions_are_called_by_many_while_their_library_is_replaced()
    {
        using var kv = KvInstance.Start("--worker-threads", "2");
        const int clients = 4, times = 300;
        byte[] Text(int n) => System.Text.Encoding.ASCII.GetBytes("#!lua name=m\nlocal sum = 0 "
            + $"redis.register_function('f', function(k) sum = sum + 1 redis.call('incr', k[1]) return {{sum, "
                + $"{n}}} end)");
        using var admin = kv.Connect();
        admin.Command("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), Text(0));
        await Task.WhenAll(Enumerable.Range(0, clients + 1).Select(id => Task.Run(() =>
        {
            using var client = kv.Connect();
            for (int i = 0; i < times; i++)
            {
                if (id == clients)
                {
                    client.Command("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), "REPLACE"u8.ToArray(), Text(i));
                    continue;
                }

                // What a library keeps begins anew with each call.
                string reply = client.Command($"FCALL f 1 k{id}").ToString();
                Assert.StartsWith("[:1 :", reply, StringComparison.Ordinal);
                if (i % 10 == 0) Assert.Equal(":1", client.Command("EVAL \"return KEYS[1] and 1\" 1 k").ToString());
            }
        }, TestContext.Current.CancellationToken)));
        for (int id = 0; id < clients; id++)
            Assert.Equal($"\"{times}\"", admin.Command($"GET k{id}").ToString());
        Assert.Equal("1", admin.Info("number_of_functions"));
    }

    [Fact]
    public void L08_a_client_that_goes_leaves_nothing_of_its_script()
    {
        using var kv = KvInstance.Start("--script-time-limit", "300", "--worker-threads", "2",
            "--enable-debug-command", "yes");
        for (int i = 0; i < 20; i++)
        {
            using var client = kv.Connect();
            client.Send(i % 2 == 0 ? "EVAL \"while true do end\" 1 k" : "EVAL \"while true do end\" 0");
        }

        using var other = kv.Connect();
        Assert.Equal("+OK", other.Command("SET k v").ToString());
        other.Ok("DEBUG INTEGRITY");
    }

    [Fact]
    public void Texts_of_EVAL_go_above_the_limit_and_those_of_SCRIPT_LOAD_stay()
    {
        using var kv = KvInstance.Start("--script-cache-limit", "64kb");
        using var client = kv.Connect();
        string sha = client.Command("SCRIPT LOAD \"return 'stays'\"").ToString().Trim('"');
        for (int i = 0; i < 2000; i++) Assert.Equal($":{i}", client.Command($"EVAL \"return {i}\" 0").ToString());
        int cached = int.Parse(client.Info("number_of_cached_scripts"),
            System.Globalization.CultureInfo.InvariantCulture);
        Assert.InRange(cached, 10, 400);
        Assert.Equal("[:1]", client.Command($"SCRIPT EXISTS {sha}").ToString());
        client.Command("SCRIPT FLUSH");
        Assert.Equal("0", client.Info("number_of_cached_scripts"));
    }

    [Fact]
    public void Above_maxmemory_a_script_may_not_begin_to_write()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Command($"SET big {new string('x', 100_000)}");
        client.Command("CONFIG SET maxmemory 1");
        Assert.StartsWith("-OOM", client.Command("EVAL \"return redis.call('SET',KEYS[1],1)\" 1 k").ToString(),
            StringComparison.Ordinal);
        Assert.Equal(":1", client.Command("EVAL \"return redis.call('DEL',KEYS[1])\" 1 big").ToString());
        Assert.StartsWith("-OOM", client.Command(["EVAL"u8.ToArray(), "#!lua\nreturn 1"u8.ToArray(), "0"u8.ToArray()])
            .ToString(), StringComparison.Ordinal);
    }
}
