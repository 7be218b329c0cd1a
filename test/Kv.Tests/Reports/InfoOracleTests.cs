using System.Text.RegularExpressions;
using Kv.Tests.Harness;

namespace Kv.Tests.Reports;

/// <summary>INFO beside that of the reference: no field is missing, and what is counted is the same.</summary>
public sealed partial class InfoOracleTests
{
    public static TheoryData<string, string[]> Conversations => new()
    {
        { "plain", ["SET k v", "GET k", "GET nothing", "get k", "INCR k", "LPUSH k a", "LPUSH l a b", "LRANGE l 0 -1",
            "GET l", "HSET h f 1 g", "SETEX k 0 v", "EXPIRE k x"] },
        { "refused", [
            "FOO", "GET", "GET a b", "CLIENT NOTHING", "CLIENT", "CLIENT ID x", "OBJECT ENCODING",
            "CONFIG SET nothing 1", "CONFIG SET", "SELECT 99", "EXEC", "DISCARD", "AUTH a b",
            "AUTH x", "HELLO 9", "HELLO x", "CLUSTER INFO", "READONLY", "EVALSHA x 0", "FCALL nothing 0",
            "XREADGROUP GROUP g c STREAMS x >", "XGROUP CREATE x g $", "RESTORE k 0 x", "SUBSCRIBE"] },
        { "exec", ["MULTI", "SET a 1", "LPUSH a x", "GET", "EXEC", "MULTI", "SET a 1", "LPUSH a x", "GET a", "EXEC",
            "MULTI", "MULTI", "WATCH a", "DISCARD", "WATCH a", "SET a 2", "MULTI", "GET a", "EXEC", "UNWATCH"] },
        { "scripts", ["EVAL \"return redis.call('SET', KEYS[1], 1)\" 1 a",
            "EVAL \"return redis.pcall('LPUSH', 'a', 1)\" 0",
            "EVAL \"return redis.call('LPUSH', 'a', 1)\" 0", "EVAL \"redis.pcall('LPUSH', 'a', 1) return 1\" 0",
            "EVAL \"return redis.error_reply('MINE of my own')\" 0", "EVAL \"return redis.error_reply('my own')\" 0",
            "EVAL \"return redis.call('NOTHING')\" 0", "EVAL \"return redis.call('GET')\" 0",
            "EVAL \"return redis.call('SUBSCRIBE', 'c')\" 0", "EVAL \"nonsense(\" 0", "EVAL \"error('x')\" 0",
            "EVAL \"return 1\"", "EVAL \"return 1\" x", "SCRIPT LOAD \"return 1\"", "SCRIPT NOTHING",
            "EVAL_RO \"return redis.call('SET', 'a', 1)\" 0", "SCRIPT KILL", "FUNCTION KILL"] },
        { "users", ["ACL SETUSER u on nopass +get ~a*", "AUTH u x", "SET a 1", "GET b", "GET a", "ACL WHOAMI",
            "AUTH default x", "ACL DELUSER u"] },
        { "waiting", ["BLPOP nothing 0.01", "RPUSH l a b", "BLPOP l 0", "BLPOP l x", "LPUSH s a", "BZPOPMIN s 0.01",
            "WAIT 0 0"] },
    };

    [Theory, MemberData(nameof(Conversations))]
    public void Calls_and_errors_are_counted_as_the_reference_counts_them(string name, string[] lines)
    {
        Assert.NotEmpty(name);
        using var redis = SharedServers.Redis();
        string[] expected = CountsOf(redis.Server, lines);
        Assert.NotEmpty(expected);
        foreach (string transport in new[] { "epoll", "pipelines" })
        {
            using var kv = KvInstance.Start("--transport", transport);
            Assert.Equal(expected, CountsOf(kv, lines));
        }
    }

    [Fact]
    public void Every_field_of_the_reference_is_there_in_its_section()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        var theirs = FieldsOf(redis.Server);
        Assert.NotEmpty(theirs);
        Assert.Empty(theirs.Except(FieldsOf(kv)));
    }

    private static string[] CountsOf(TestServer server, string[] lines)
    {
        using var client = server.Connect();
        client.Ok("FLUSHALL");
        client.Ok("CONFIG RESETSTAT");
        foreach (string line in lines) client.Command(line);
        string info = client.Ok("INFO errorstats commandstats latencystats").String;
        long errors = long.Parse(client.Info("total_error_replies"));
        return [$"total_error_replies:{errors}", .. info.Split("\r\n")
            .Where(line => line.Contains("stat_", StringComparison.Ordinal)
                || line.StartsWith("latency_", StringComparison.Ordinal))
            .Select(line => line.StartsWith("latency_", StringComparison.Ordinal) ? line.Split(':')[0]
                : Times().Replace(line, "")).Order(StringComparer.Ordinal)];
    }

    private static HashSet<string> FieldsOf(TestServer server)
    {
        using var client = server.Connect();
        string section = "";
        var fields = new HashSet<string>();
        foreach (string line in client.Ok("INFO everything").String.Split("\r\n"))
        {
            if (line.StartsWith('#')) section = line[2..];
            else if (line.Length > 0 && !section.EndsWith("stats", StringComparison.Ordinal))
                fields.Add($"{section}: {line.Split(':')[0]}");
        }

        return fields;
    }

    [GeneratedRegex(",usec=[^,]*,usec_per_call=[^,]*")]
    private static partial Regex Times();
}
