using System.Net;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Many clients change few keys at once: a real replica ends with the same data.</summary>
public class FeedStressTests(ITestOutputHelper output)
{
    private const int Clients = 8, Batches = 60, CommandsInBatch = 32;

    private static readonly string[] Lines =
    [
        "SET s{0} v{1}", "SET s{0} v{1} PX {2}", "SET s{0} v{1} EX 100 XX", "SET s{0} v{1} NX", "APPEND s{0} x",
        "GETEX s{0} PX {2}", "GETDEL s{0}", "PEXPIRE s{0} {2}", "PERSIST s{0}", "INCR n{0}", "INCRBYFLOAT n{0} 0.5",
        "SETRANGE s{0} 3 abc", "DEL s{0} l{0} n{0}", "RENAME s{0} s{3}", "COPY s{0} s{3} REPLACE",
        "MSET s{0} {1} s{3} {1}", "MSETNX s{0} {1} s{3} {1}", "RPUSH l{0} {1}", "LPUSH l{0} a{1} b{1}", "LPOP l{0}",
        "RPOP l{0} 2", "LMOVE l{0} l{3} LEFT RIGHT", "LMPOP 2 l{0} l{3} LEFT COUNT 2", "SADD t{0} {1} {2} {3}",
        "SPOP t{0}", "SPOP t{0} 3", "SMOVE t{0} t{3} {2}", "ZADD z{0} {1} m{2}", "ZPOPMIN z{0}",
        "ZINCRBY z{0} 1.5 m{2}", "HSET h{0} f{2} {1}", "HINCRBYFLOAT h{0} g 1.25", "HDEL h{0} f{2}",
        "XADD x{0} MAXLEN ~ 20 * f {1}", "XADD x{0} * f {1}", "XTRIM x{0} MAXLEN 5",
        "XREADGROUP GROUP g c{2} COUNT 2 STREAMS x{0} >", "XAUTOCLAIM x{0} g c{3} 0 0 COUNT 2",
        "EVAL \"redis.call('INCR', KEYS[1]); redis.call('RPUSH', KEYS[2], ARGV[1]); "
            + "return redis.call('SPOP', KEYS[3])\" 3 n{0} l{0} t{0} {1}",
        "BLPOP l{0} l{3} 0.01", "BLMOVE l{0} l{3} RIGHT LEFT 0.01", "BZPOPMIN z{0} 0.01",
        "XREADGROUP GROUP g c{2} BLOCK 10 COUNT 1 STREAMS x{0} >", "SORT l{0} ALPHA STORE l{3}",
        "SUNIONSTORE t{0} t{0} t{3}", "GET s{0}", "MGET s{0} s{3}", "TOUCH s{0} s{3}", "SWAPDB 0 1", "FLUSHDB",
    ];

    [Fact]
    public async Task A_replica_of_a_server_with_many_clients_on_few_keys_has_its_data()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var replica = RedisServer.Start("--replicaof",
            $"127.0.0.1 {((IPEndPoint)kv.EndPoint).Port}", "--repl-diskless-sync-delay", "0");
        FeedState.AwaitOnline(replica);
        for (int round = 0; round < 3; round++)
        {
            int seeded = round;
            await Task.WhenAll(Enumerable.Range(0, Clients).Select(client => Task.Factory.StartNew(
                () => Work(kv, Seed.NewRandom(Seed.Value, (seeded * Clients) + client)),
                TaskCreationOptions.LongRunning)));
            FeedState.AssertFollows(kv, replica, $"round {round}; {Seed.Hint}");
        }

        output.WriteLine($"{kv.Server.Feed.Position} entries; {Seed.Hint}");
    }

    [Fact]
    public void What_is_evicted_is_gone_in_a_replica_too()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--maxmemory", "24mb", "--maxmemory-policy",
            "allkeys-lru");
        using var replica = RedisServer.Start("--replicaof",
            $"127.0.0.1 {((IPEndPoint)kv.EndPoint).Port}", "--repl-diskless-sync-delay", "0");
        FeedState.AwaitOnline(replica);
        using var client = kv.Connect();
        string value = new('x', 1000);
        for (int i = 0; i < 40_000; i++) client.Ok($"SET k{i} {value}");
        Assert.NotEqual("0", client.Info("evicted_keys"));
        FeedState.AssertFollows(kv, replica, Seed.Hint);
    }

    /// <summary>What one client does.</summary>
    internal static void Work(KvInstance kv, Random random, bool flushes = true)
    {
        using var client = kv.Connect(2, timeoutMs: 120_000);
        for (int batch = 0; batch < Batches; batch++)
        {
            var lines = new List<string>();
            bool isExec = random.Next(4) == 0;
            if (isExec) lines.Add("MULTI");
            int count = isExec ? random.Next(1, 6) : CommandsInBatch;
            for (int i = 0; i < count; i++) lines.Add(Line(random, flushes));
            if (isExec) lines.Add("EXEC");
            client.Send(lines.SelectMany(RespText.Encode).ToArray());
            foreach (string _ in lines) client.Read();
        }
    }

    private static string Line(Random random, bool flushes)
    {
        if (random.Next(40) == 0) return $"XGROUP CREATE x{random.Next(3)} g 0 MKSTREAM";
        string line = Lines[random.Next(Lines.Length)];
        // Else nothing would grow.
        if (line is "FLUSHDB" or "SWAPDB 0 1" && (!flushes || random.Next(30) != 0)) line = Lines[0];
        return string.Format(System.Globalization.CultureInfo.InvariantCulture, line, random.Next(3),
            random.Next(100_000), random.Next(1, 9), random.Next(3));
    }
}
