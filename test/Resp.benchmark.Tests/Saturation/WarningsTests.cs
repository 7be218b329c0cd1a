using RespBenchmark.Saturation;

namespace RespBenchmark.Tests.Saturation;

public class WarningsTests
{
    [Fact]
    public void More_io_threads_than_cores_are_warned_of()
    {
        var facts = new ServerFacts("redis_version:7.0.15\r\n",
            new Dictionary<string, string> { ["io-threads"] = "32" });
        Assert.Contains(Warnings.OfServer(facts, 8, 4),
            text => text.Contains("io-threads 32 > 4 cores", StringComparison.Ordinal));
        Assert.DoesNotContain(Warnings.OfServer(facts, 8, 64),
            text => text.Contains("io-threads", StringComparison.Ordinal));
        Assert.DoesNotContain(Warnings.OfServer(facts, 8, 0),
            text => text.Contains("io-threads", StringComparison.Ordinal));
    }

    [Fact]
    public void Persistence_few_clients_and_eviction_are_warned_of()
    {
        var facts = new ServerFacts("", new Dictionary<string, string>
        {
            ["appendonly"] = "yes", ["save"] = "3600 1", ["maxclients"] = "100", ["maxmemory"] = "1000",
                ["maxmemory-policy"] = "allkeys-lru",
        });
        Assert.Equal(4, Warnings.OfServer(facts, 100, 2).Count());
        Assert.Empty(Warnings.OfServer(new ServerFacts("", new Dictionary<string, string>()), 100, 2));
    }

    [Fact]
    public void Shared_cores_are_warned_of_with_what_the_grammar_has_against_it()
    {
        string warning = Assert.Single(Warnings.OfHost(true, All(), All(), "so and so"),
            text => text.Contains("share", StringComparison.Ordinal));
        Assert.EndsWith(" cores: so and so", warning);

        static int[] All() => [.. Enumerable.Range(0, Environment.ProcessorCount)];
    }

    [Fact]
    public void Missing_keys_and_evictions_are_warned_of()
    {
        var none = new Dictionary<string, string>();
        var before = new ServerFacts("evicted_keys:5\nuptime_in_seconds:10", none);
        Assert.Equal(2, Warnings.OfRun(before, new ServerFacts("evicted_keys:7\nuptime_in_seconds:11", none), 1000,
            999).Count());
        Assert.Empty(Warnings.OfRun(before, before, 1000, 1000));
    }

    [Theory]
    [InlineData("# Server\r\nredis_version:7.0.15\r\nprocess_id:17\r\n", "redis 7.0.15")]
    [InlineData("redis_version:7.2.4\r\ngarnet_version:2.2.5\r\n", "garnet 2.2.5")]
    [InlineData("", "unknown")]
    public void A_server_is_called_by_its_own_name(string info, string name) =>
        Assert.Equal(name, new ServerFacts(info, new Dictionary<string, string>()).Name);
}
