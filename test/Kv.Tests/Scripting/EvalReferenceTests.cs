using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Scripts and the commands about them, beside a real server, in both protocols: what they answer and what
/// their errors say.</summary>
public sealed class EvalReferenceTests
{
    private static readonly string[] Data =
    [
        "FLUSHALL", "SELECT 0", "SET s 1", "RPUSH l 1 2 3", "HSET h a 1 b 2", "ZADD z 1.5 a 2 b", "SADD set x",
    ];

    private static readonly string[][] Calls =
    [
        ["EVALSHA", "aaa", "0"], ["EVALSHA", new string('f', 40), "0"], ["EVAL", "return 1", "-1"],
        ["EVAL", "return 1", "2", "a"], ["EVAL", "return 1", "x"],
        ["EVAL", "return KEYS", "2", "a", "b", "c"], ["EVAL", "return ARGV", "1", "a", "b", "c"],
        ["SCRIPT", "LOAD", "return 1"], ["SCRIPT", "LOAD", "foo bar"],
        ["SCRIPT", "EXISTS", "a", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
            "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"],
        ["EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"],
        ["EVALSHA_RO", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"], ["SCRIPT", "FLUSH", "x"],
        ["SCRIPT", "FLUSH", "SYNC"], ["SCRIPT", "FLUSH", "async"], ["SCRIPT", "FLUSH"],
        ["EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"],
        ["SCRIPT", "KILL"], ["SCRIPT", "DEBUG", "no"], ["SCRIPT", "DEBUG", "x"], ["SCRIPT", "foo"], ["SCRIPT", "LOAD"],
        ["SCRIPT"], ["EVAL"],
        ["EVAL_RO", "return redis.call('set','x',1)", "0"], ["EVAL_RO", "return redis.call('publish','x',1)", "0"],
        ["EVAL_RO", "return redis.call('get','s')", "0"],
        ["EVAL", "#!lua flags=no-writes\nreturn redis.call('set','x',1)", "0"],
        ["EVAL", "#!lua flags=bogus\nreturn 1", "0"], ["EVAL", "#!js\nreturn 1", "0"],
        ["EVAL", "#!lua name=x\nreturn 1", "0"], ["EVAL", "#!lua", "0"],
        ["EVAL", "#!lua\nreturn redis.call('incr','q')", "1", "q"],
        ["EVAL", "\n\nerror('x')", "0"], ["EVAL", "local function f()\n error('deep')\nend\nf()", "0"],
        ["EVAL", "local function f()\n redis.call('nosuch')\nend\nf()", "0"], ["EVAL", "", "0"],
        ["EVAL", "return redis.call('get',KEYS[1])", "1", "s"],
        ["EVAL", "return redis.call('get',KEYS[1])", "1", "l"],
        ["EVAL", "return {KEYS[1],ARGV[1],#KEYS,#ARGV}", "1", "s", ""],
        ["EVAL", "return redis.call('SET',KEYS[1],ARGV[1])", "1", "big", new string('b', 300_000)],
        ["EVAL", "return redis.call('GET',KEYS[1])", "1", "big"],
        ["EVAL", "return {redis.call('GET',KEYS[1]),redis.call('MGET',KEYS[1],KEYS[1])}", "1", "big"],
        ["STRLEN", "big"],
    ];

    // Of an error that a script passes on the command that it called is the one that counts it.
    [Fact]
    public void Errors_and_refusals_of_scripts_are_counted_as_the_reference_counts_them()
    {
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        string[] fields = ["total_error_replies", "cmdstat_get", "cmdstat_set", "cmdstat_incr", "cmdstat_client|id",
            "cmdstat_eval", "cmdstat_eval_ro", "cmdstat_evalsha", "errorstat_ERR", "errorstat_MY", "errorstat_ERRX",
            "errorstat_NOSCRIPT", "errorstat_WRONGTYPE"];
        (string Body, string Command)[] calls =
        [
            ("return redis.call('get','s')", "EVAL"), ("return redis.call('incr','s')", "EVAL"),
            ("return redis.pcall('incr','s')", "EVAL"), ("return {redis.pcall('incr','s').err}", "EVAL"),
            ("error(redis.pcall('incr','s'))", "EVAL"), ("return redis.pcall('nosuch')", "EVAL"),
            ("return redis.call('nosuch')", "EVAL"), ("error('x')", "EVAL"), ("return redis.call('get')", "EVAL"),
            ("return redis.pcall('get')", "EVAL"), ("return {err='MY err'}", "EVAL"),
            ("return redis.error_reply('ERRX y')", "EVAL"), (new string('f', 40), "EVALSHA"),
            ("return redis.call('set','a',1)", "EVAL_RO"), ("return foo bar", "EVAL"),
            ("return redis.call('client','id')", "EVAL"), ("return redis.call('lpush','s',1)", "EVAL"),
            ("pcall(redis.call,'lpush','s',1) return redis.call('get','s')", "EVAL"),
            ("redis.pcall('nosuch') redis.pcall('get') redis.pcall('client','id') return 1", "EVAL"),
            ("pcall(redis.call,'nosuch') pcall(redis.call) pcall(redis.call,{}) return 1", "EVAL"),
            ("xpcall(function() redis.call('incr','s') end, function(e) return e end) return 1", "EVAL"),
            ("local _,e = xpcall(function() redis.call('incr','s') end, function(e) return e end) error(e)", "EVAL"),
            ("local co = coroutine.wrap(function() redis.call('incr','s') end) co()", "EVAL"),
            ("error({err='MY own'})", "EVAL"),
        ];
        foreach (var client in (RespClient[])[theirs, ours])
        {
            client.Ok("SET s abc");
            foreach (var (body, command) in calls) client.Command(Words(command, body, "0"));
        }

        Assert.Equal(Counted(theirs), Counted(ours));

        string Counted(RespClient client)
        {
            string info = client.Command("INFO everything").String;
            return string.Join('\n', info.Split("\r\n").Where(line => fields.Contains(line.Split(':')[0])).Order()
                .Select(line => System.Text.RegularExpressions.Regex.Replace(line, "usec=.*call=[0-9.]*,", "")));
        }
    }

    // What has changed something, or says allow-oom, goes on above maxmemory, so that nobody sees half of it.
    [Fact]
    public void Above_maxmemory_scripts_do_and_are_refused_what_they_are_there()
    {
        string[][] calls =
        [
            ["EVAL", "return redis.call('set','a',1)", "0"], ["EVAL", "return redis.pcall('set','a',1)", "0"],
            ["EVAL", "#!lua\nreturn 1", "0"], ["EVAL", "#!lua flags=no-writes\nreturn 1", "0"],
            ["EVAL_RO", "return redis.call('get','a')", "0"],
            ["EVAL", "#!lua flags=allow-oom\nreturn redis.call('set','a',1)", "0"],
            ["EVAL", "redis.call('get','a') return redis.call('set','b',1)", "0"],
            ["EVAL", "redis.call('del','a') return redis.call('set','a',2)", "0"],
            ["EVAL", "redis.call('del',KEYS[1]) return redis.call('set',KEYS[1],3)", "1", "a"], ["GET", "a"],
            ["FCALL", "f", "1", "a"], ["FCALL", "oom", "1", "a"], ["FCALL", "reads", "1", "a"],
            ["SCRIPT", "LOAD", "x=1"],
            ["FUNCTION", "LOAD", "REPLACE", "#!lua name=l\nredis.register_function('f', function() end)"],
        ];
        using var redis = RedisServer.Start();
        using var kv = KvProcess.Start("--worker-threads", "1");
        foreach (var client in (RespClient[])[redis.Connect(), kv.Connect()])
        {
            client.Command(Words("FUNCTION", "LOAD", "#!lua name=l\nlocal function f(k) "
                + "return redis.call('set', k[1], 4) end redis.register_function('f', f) "
                + "redis.register_function{function_name='oom', callback=f, flags={'allow-oom'}} "
                + "redis.register_function{function_name='reads', callback=function(k) return redis.call('get', k[1]) "
                + "end, flags={'no-writes'}}"));
            client.Ok("CONFIG SET maxmemory 1");
        }

        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        foreach (string[] call in calls)
        {
            Assert.Equal((string.Join(' ', call), theirs.Command(Words(call)).ToString()),
                (string.Join(' ', call), ours.Command(Words(call)).ToString()));
        }

        // One without end is stopped all the same.
        string answer = ours.Command(Words("EVAL", "redis.call('set','a',1) local s = ('x'):rep(100000) "
            + "for i = 1, 10000 do redis.call('set', 'k' .. i, s) end", "0")).ToString();
        Assert.StartsWith("-OOM command not allowed", answer, StringComparison.Ordinal);
    }

    [Fact]
    public void The_keys_of_a_script_are_told_as_the_reference_tells_them()
    {
        using var theirs = SharedServers.Redis();
        using var ours = SharedServers.Kv();
        using RespClient redis = theirs.Server.Connect(), kv = ours.Server.Connect();
        foreach (string command in (string[])["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"])
        {
            foreach (string count in (string[])["0", "1", "3", "4", "-1", "x", ""])
            {
                foreach (string ask in (string[])["GETKEYS", "GETKEYSANDFLAGS"])
                {
                    byte[][] words = Words("COMMAND", ask, command, "return 1", count, "a", "b", "c");
                    Assert.Equal(redis.Command(words).ToString(), kv.Command(words).ToString());
                }
            }
        }
    }

    [Theory, InlineData(2), InlineData(3)]
    public void Scripts_answer_as_the_reference_does(int resp)
    {
        using var theirs = SharedServers.Redis();
        using var ours = SharedServers.Kv();
        using RespClient redis = theirs.Server.Connect(), kv = ours.Server.Connect();
        foreach (var client in (RespClient[])[redis, kv])
        {
            client.Command($"HELLO {resp}");
            foreach (string line in Data) client.Command(line);
        }

        foreach (string[] call in Bodies().Select(body => (string[])["EVAL", body, "0"]).Concat(Calls))
        {
            byte[][] words = [.. call.Select(Encoding.Latin1.GetBytes)];
            Assert.Equal((string.Join(' ', call), redis.Command(words).ToString()),
                (string.Join(' ', call), kv.Command(words).ToString()));
        }
    }

    private static IEnumerable<string> Bodies() =>
        File.ReadLines(Path.Combine(AppContext.BaseDirectory, "Scripting", "Bodies.txt"));

    private static byte[][] Words(params string[] words) => [.. words.Select(Encoding.Latin1.GetBytes)];
}
