using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Clients;

/// <summary>What libraries send as scripts (locks, limiters, caches, queues), by python3-redis, redis-cli and BullMQ:
/// the same against Kv and against redis-server.</summary>
public class ScriptClientTests
{
    [Fact]
    public void Scripts_of_libraries_do_here_what_they_do_there()
    {
        using var kv = KvInstance.Start("--worker-threads", "2");
        using var redis = RedisServer.Start();
        string script = Path.Combine(AppContext.BaseDirectory, "Clients", "python_scripts.py");
        string ours = Run(Requires.PythonWithRedis(), script, kv), theirs = Run(Requires.PythonWithRedis(), script,
            redis);
        Assert.EndsWith("ok\n", ours, StringComparison.Ordinal);
        Assert.Equal(theirs, ours);
    }

    // Jobs in order, by priority, delayed, repeated, tried again, limited in rate, paused, with children, by several
    // workers; and what all that leaves in the server.
    [Theory, InlineData("epoll"), InlineData("pipelines")]
    public void A_queue_of_BullMQ_does_here_what_it_does_there(string transport)
    {
        string modules = Requires.NodeModules("bullmq");
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var redis = RedisServer.Start();
        string[] answers = Array.ConvertAll<TestServer, string>([kv, redis], server =>
        {
            string script = Path.Combine(AppContext.BaseDirectory, "Clients", "node_queue.cjs");
            string port = server.Port.ToString(CultureInfo.InvariantCulture);
            var result = ChildProcess.Run(Requires.Tool("node"), [script, modules, server.Host, port],
                timeoutMs: 240_000);
            Assert.True(result.ExitCode == 0, result.Output + result.Errors);
            return result.Output;
        });
        Assert.EndsWith("ok\n", answers[0], StringComparison.Ordinal);
        Assert.Equal(answers[1], answers[0]);
    }

    [Fact]
    public void Redis_cli_runs_a_file()
    {
        const string text = """
            -- a comment in front
            local all = {}
            for i, key in ipairs(KEYS) do all[i] = redis.call('SET', key, ARGV[i]) end
            return {all, redis.call('MGET', unpack(KEYS)), #ARGV, 3.7, cjson.encode({1, 'x'})}
            """;
        string file = Path.GetTempFileName();
        File.WriteAllText(file, text);
        try
        {
            using var kv = KvInstance.Start();
            using var redis = RedisServer.Start();
            string[] answers = Array.ConvertAll<TestServer, string>([kv, redis], server =>
            {
                string[] words = ["-h", server.Host, "-p", server.Port.ToString(CultureInfo.InvariantCulture), "--eval",
                    file, "{a}1", "{a}2", ",", "x", "y", "z"];
                var result = ChildProcess.Run(Requires.Tool("redis-cli"), words);
                Assert.True(result.ExitCode == 0, result.Output + result.Errors);
                return result.Output;
            });
            Assert.Equal(answers[1], answers[0]);
            Assert.Contains("OK", answers[0], StringComparison.Ordinal);
        }
        finally
        {
            File.Delete(file);
        }
    }

    private static string Run(string python, string script, TestServer server)
    {
        var result = ChildProcess.Run(python,
            [script, server.Host, server.Port.ToString(CultureInfo.InvariantCulture)]);
        Assert.True(result.ExitCode == 0, result.Output + result.Errors);
        return result.Output;
    }
}
