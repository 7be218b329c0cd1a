using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Libraries of functions beside a real server, in both protocols: replies and error texts.</summary>
public sealed class FunctionReferenceTests
{
    private const string F = "#!lua name=a\n", Body = "function() end";

    /// <summary>Texts for FUNCTION LOAD: what is wrong with each is told alike.</summary>
    private static readonly string[] Texts =
    [
        "return 1", "#!lua", "#!lua\nx", "#!lua name=\nx", "#!js name=a\nx", "#!lua name=a foo=b\nx", "#!\nx",
        "#!LUA NAME=a\nredis.register_function('f', function() end)", "#!lua name=a name=b\nx", "#!lua name=a-b\nx",
        F + "x x", F + "return 1", F + "redis.call('get','a')", F + "foo = 1", F + "local x = redis.foo",
        F + "redis.register_function('f')", F + "redis.register_function('f',1)",
        F + $"redis.register_function(1,{Body})", F + $"redis.register_function({{}},{Body})",
        F + "redis.register_function()", F + "redis.register_function(1,2,3)",
        F + $"redis.register_function('a-b',{Body})", F + $"redis.register_function('',{Body})",
        F + $"redis.register_function('f',{Body}) redis.register_function('f',{Body})",
        F + "redis.register_function{function_name='f'}", F + $"redis.register_function{{callback={Body}}}",
        F + $"redis.register_function{{function_name=1,callback={Body}}}",
        F + $"redis.register_function{{function_name={{}},callback={Body}}}",
        F + "redis.register_function{function_name='f',callback=1}",
        F + $"redis.register_function{{function_name='f',callback={Body},flags=1}}",
        F + $"redis.register_function{{function_name='f',callback={Body},flags={{'x'}}}}",
        F + $"redis.register_function{{function_name='f',callback={Body},flags={{1}}}}",
        F + $"redis.register_function{{function_name='f',callback={Body},flags={{'no-writes','allow-stale'}}}}",
        F + $"redis.register_function{{function_name='f',callback={Body},x=1}}",
        F + $"redis.register_function{{function_name='f',callback={Body},description=1}}",
        F + $"redis.register_function{{function_name='f',callback={Body},description={{}}}}",
        F + $"redis.register_function{{[1]='f',callback={Body}}}",
        F + $"redis.register_function{{FUNCTION_NAME='f',Callback={Body},flagS={{'NO-writes'}},Description='D'}}",
        F + "while true do end", F + "redis.log(redis.LOG_DEBUG,'x')", F + "return redis.sha1hex('x')",
        F + "redis.register_function('f', function(k,a) return {k,a} end)",
    ];

    private static readonly string Library = F + """
        local count = 0
        local function add(k, a) count = count + 1 return redis.call('incrby', k[1], a[1]) end
        redis.register_function('echo', function(k,a) return {k,a} end)
        redis.register_function('add', add)
        redis.register_function{function_name='get', callback=function(k) return redis.call('get', k[1]) end,
            flags={'no-writes'}, description='reads'}
        redis.register_function{function_name='lies', callback=function(k) return redis.call('set', k[1], 1) end,
            flags={'no-writes'}}
        redis.register_function('again', function() return redis.register_function('x', function() end) end)
        redis.register_function('globals', function() return KEYS[1] end)
        redis.register_function('makes', function() x = 1 end)
        redis.register_function('fails', function() error('boom') end)
        redis.register_function('short', function() return redis.call('incr') end)
        redis.register_function('told', function() return redis.pcall('incr') end)
        redis.register_function('resp', function() redis.setresp(3) return {double=1.5} end)
        redis.register_function('undeclared', function() return redis.call('incr', 'other') end)
        """;

    private static readonly string[][] Calls =
    [
        ["FUNCTION", "FLUSH"], ["FUNCTION", "LOAD", Library], ["FUNCTION", "LOAD", Library],
        ["FUNCTION", "LOAD", "REPLACE", Library], ["FUNCTION", "LOAD", "foo", Library],
        ["FUNCTION", "LOAD", "#!lua name=b\nredis.register_function('add', function() end)"],
        ["FCALL", "echo", "1", "a", "b", "c"], ["FCALL", "echo", "0"], ["FCALL", "echo", "3", "a"],
        ["FCALL", "echo", "-1"], ["FCALL", "echo", "x"], ["FCALL", "echo"], ["FCALL", "nosuch", "0"],
        ["FCALL", "ECHO", "0"], ["DEL", "n", "other"], ["FCALL", "add", "1", "n", "2"], ["FCALL", "add", "1", "n", "x"],
        ["FCALL_RO", "add", "1", "n", "2"], ["FCALL_RO", "get", "1", "n"], ["FCALL", "get", "1", "n"],
        ["FCALL", "lies", "1", "n"], ["FCALL", "again", "0"], ["FCALL", "globals", "0"], ["FCALL", "makes", "0"],
        ["FCALL", "fails", "0"], ["FCALL", "short", "0"], ["FCALL", "told", "0"], ["FCALL", "resp", "0"],
        ["FCALL", "undeclared", "0"], ["EVAL", "return redis.call('fcall','echo',0)", "0"],
        ["EVAL", "return redis.register_function", "0"], ["EVAL", "return {#KEYS,redis.REPL_ALL}", "1", "k"],
        ["EVAL_RO", "#!lua\nreturn 1", "0"], ["FUNCTION", "STATS"], ["FUNCTION", "KILL"], ["FUNCTION", "DELETE", "b"],
        ["FUNCTION", "DELETE", "a"], ["FUNCTION", "LIST"], ["FUNCTION", "LIST", "LIBRARYNAME"],
        ["FUNCTION", "LIST", "foo"], ["FUNCTION", "LIST", "WITHCODE", "WITHCODE"],
        ["FUNCTION", "LIST", "LIBRARYNAME", "a", "LIBRARYNAME", "b"],
        ["FUNCTION", "LOAD", "#!lua name=one\nredis.register_function{function_name='f', "
            + "callback=function() end, flags={'allow-oom','no-writes'}, description='d'}"],
        ["FUNCTION", "LIST"], ["FUNCTION", "LIST", "WITHCODE"], ["FUNCTION", "LIST", "LIBRARYNAME", "O*", "WITHCODE"],
        ["FUNCTION", "LIST", "LIBRARYNAME", "x*"], ["FUNCTION", "STATS"], ["FUNCTION", "FLUSH", "foo"],
        ["FUNCTION", "FLUSH", "SYNC", "ASYNC"], ["FUNCTION", "FLUSH", "async"], ["FUNCTION", "STATS"],
        ["FUNCTION", "LOAD"], ["FUNCTION", "nosuch"], ["FUNCTION"], ["FCALL", "f", "0"],
    ];

    [Theory, InlineData(2), InlineData(3)]
    public void Functions_answer_as_the_reference_does(int resp)
    {
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        theirs.Command($"HELLO {resp}");
        ours.Command($"HELLO {resp}");
        var loads = Texts.SelectMany(text => new[] { ["FUNCTION", "FLUSH"], (string[])["FUNCTION", "LOAD", text] });
        var differences = new List<string>();
        foreach (string[] call in loads.Concat(Calls))
        {
            byte[][] words = [.. call.Select(Encoding.Latin1.GetBytes)];
            string expected = theirs.Command(words).ToString(), actual = ours.Command(words).ToString();
            if (expected != actual)
                differences.Add($"{string.Join(' ', call)}\n  reference {expected}\n  here      {actual}");
        }

        Assert.True(differences.Count == 0, string.Join('\n', differences));
    }
}
