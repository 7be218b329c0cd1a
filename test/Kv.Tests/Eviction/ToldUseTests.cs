using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Eviction;

/// <summary>RESTORE with FREQ and IDLETIME: what is told of a key's use, what is answered of it, and what it is good
/// for.</summary>
public sealed class ToldUseTests
{
    private const string Payload = "\"\\x00\\x05hello\\n\\x00cr\\xdfve4 \\n\"";

    // 31 steps stand for 255: half of one, and what rounding down takes, is the most that is lost.
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(5)]
    [InlineData(100)]
    [InlineData(128)]
    [InlineData(250)]
    [InlineData(254)]
    [InlineData(255)]
    public void A_frequency_that_is_told_is_answered_as_redis_server_does_within_a_step(int frequency)
    {
        using var redis = RedisServer.Start("--maxmemory-policy", "allkeys-lfu");
        using var kv = KvProcess.Start("--maxmemory-policy", "allkeys-lfu");
        using RespClient one = redis.Connect(60_000), other = kv.Connect(60_000);
        foreach (RespClient client in (RespClient[])[one, other])
        {
            client.Ok($"RESTORE k 0 {Payload} FREQ {frequency}");
            client.Ok($"RESTORE l 0 {Payload} FREQ 7");
            client.Ok($"RESTORE l 0 {Payload} REPLACE FREQ {frequency}");
        }

        foreach (string key in (string[])["k", "l"])
        {
            long expected = one.Command($"OBJECT FREQ {key}").Integer;
            Assert.InRange(other.Command($"OBJECT FREQ {key}").Integer, expected - 8, expected + 8);
        }

        if (frequency == 255) Assert.Equal(255, other.Command("OBJECT FREQ k").Integer);
    }

    [Theory]
    [InlineData(MaxMemoryPolicy.AllKeysLfu, 100, 12)]
    [InlineData(MaxMemoryPolicy.VolatileLfu, 255, 31)]
    [InlineData(MaxMemoryPolicy.AllKeysLfu, 0, 0)]
    [InlineData(MaxMemoryPolicy.AllKeysLru, 100, 2)]
    [InlineData(MaxMemoryPolicy.AllKeysRandom, 255, 2)]
    public void A_policy_that_counts_takes_a_frequency(MaxMemoryPolicy policy, int frequency, int use) =>
        Assert.Equal(use, EvictionRule.Of(policy).UseOfFrequency(2, frequency));

    // 2 is a heat of 2 in interval 0.
    [Theory]
    [InlineData(MaxMemoryPolicy.AllKeysLfu, 1000, 2)]
    [InlineData(MaxMemoryPolicy.AllKeysLru, 1, 7 * 4)]
    [InlineData(MaxMemoryPolicy.VolatileLru, 0, (7 * 4) + 2)]
    [InlineData(MaxMemoryPolicy.NoEviction, 1, 7 * 4)]
    public void A_policy_that_does_not_count_takes_an_idle_time(MaxMemoryPolicy policy, long idle, int use) =>
        Assert.Equal(use, EvictionRule.Of(policy).UseOfIdle(2, idle, interval: 7));

    [Theory]
    [InlineData(0, 0, 2)]
    [InlineData(1, 0, 2)]
    [InlineData(1000, 729, 800)]
    [InlineData(100_000, 59_049, 60_000)]
    [InlineData(30 * 86_400, 24 * 86_400, 25 * 86_400)]
    [InlineData(365 * 86_400, 24 * 86_400, 25 * 86_400)]
    public void An_idle_time_that_is_told_is_answered_about(int told, int least, int most)
    {
        using var kv = KvProcess.Start("--maxmemory-policy", "allkeys-lru");
        using RespClient client = kv.Connect(60_000);
        client.Ok($"RESTORE k 0 {Payload} IDLETIME {told}");
        Assert.InRange(client.Command("OBJECT IDLETIME k").Integer, least, most);
        client.Ok("GET k");
        Assert.InRange(client.Command("OBJECT IDLETIME k").Integer, 0, most - least + 2);
    }

    // Both ways in which a file is written.
    [Theory]
    [InlineData("SAVE")]
    [InlineData("BGSAVE")]
    public void An_idle_time_outlives_a_restart(string command)
    {
        string directory = Directory.CreateTempSubdirectory("kv-idle-").FullName;
        try
        {
            string[] options = ["--dir", directory, "--maxmemory-policy", "allkeys-lru"];
            using (var kv = KvProcess.Start(options))
            {
                using RespClient client = kv.Connect(60_000);
                client.Ok($"RESTORE k 0 {Payload} IDLETIME 10000");
                client.Ok("SET fresh v");
                client.Ok(command);
                Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "0"
                    && File.Exists(Path.Combine(directory, "dump.rdb")), () => "it is not saved");
            }

            using var again = KvProcess.Start(options);
            using RespClient asks = again.Connect(60_000);
            Assert.InRange(asks.Ok("OBJECT IDLETIME k").Integer, 6561, 7000);
            Assert.InRange(asks.Ok("OBJECT IDLETIME fresh").Integer, 0, 100);
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    [Fact]
    public void Keys_that_were_used_often_elsewhere_outlive_those_that_were_not()
    {
        using var kv = KvProcess.Start(
            "--maxmemory", "16mb", "--maxmemory-policy", "allkeys-lfu", "--worker-threads", "1");
        using RespClient client = kv.Connect(120_000);
        const int count = 1000;
        for (int key = 0; key < count; key++)
        {
            client.Ok($"RESTORE hot:{key} 0 {Payload} FREQ 255");
            client.Ok($"RESTORE cold:{key} 0 {Payload} FREQ 0");
        }

        string value = new('v', 1000);
        for (int key = 0; key < 60_000; key += 500)
        {
            var batch = new MemoryStream();
            for (int i = 0; i < 500; i++) batch.Write(RespText.Encode($"SET key:{key + i} {value}"));
            client.Send(batch.ToArray());
            for (int i = 0; i < 500; i++) Assert.Equal("+OK", client.Read().ToString());
        }

        Assert.Equal(count, Count(client, "hot"));
        Assert.InRange(Count(client, "cold"), 0, count / 10);

        static int Count(RespClient client, string name) => Enumerable.Range(0, count).Count(
            key => client.Command(string.Create(CultureInfo.InvariantCulture, $"EXISTS {name}:{key}")).Integer == 1);
    }
}
