using System.Net;
using Kv.Tests.Harness;
using StackExchange.Redis;

namespace Kv.Tests.Clients;

/// <summary>StackExchange.Redis through its API, as applications use it. Source that versions 1.2.6 to 3 all take.</summary>
public class StackExchangeRedisTests
{
    [Fact]
    public async Task Strings_keys_and_expiry()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.True(db.StringSet("k", "v"));
        Assert.Equal("v", (string?)db.StringGet("k"));
        Assert.True(db.StringGet("missing").IsNull);
        byte[] bytes = [0, 13, 10, 255, 128];
        Assert.True(await db.StringSetAsync("bin", bytes));
        Assert.Equal(bytes, (byte[]?)await db.StringGetAsync("bin"));
        Assert.False(db.StringSet("k", "w", null, When.NotExists));
        Assert.True(db.StringSet("k", "w", TimeSpan.FromHours(1), When.Exists));
        Assert.InRange(db.KeyTimeToLive("k")!.Value.TotalSeconds, 3590, 3600);
        Assert.True(db.KeyPersist("k"));
        Assert.Null(db.KeyTimeToLive("k"));
        Assert.True(db.KeyExpire("k", DateTime.UtcNow.AddHours(2)));
        Assert.Equal(1, db.StringIncrement("n"));
        Assert.Equal(-9, db.StringDecrement("n", 10));
        Assert.Equal(0.5, db.StringIncrement("f", 0.5));
        Assert.Equal("w", (string?)db.StringGetSet("k", "x"));
        Assert.Equal(3, db.StringAppend("k", "yz"));
        Assert.Equal("yz", (string?)db.StringGetRange("k", 1, -1));
        Assert.Equal(3, db.StringLength("k"));
        Assert.True(db.StringSet([new("a", 1), new("b", 2)]));
        Assert.Equal(["1", "", "2"], db.StringGet(["a", "none", "b"]).Select(v => (string?)v ?? "").ToArray());
        Assert.True(db.KeyRename("a", "c"));
        Assert.Equal(RedisType.String, db.KeyType("c"));
        Assert.Equal(2, db.KeyDelete(["b", "c", "none"]));
        Assert.False(db.KeyExists("b"));
        var error = Assert.Throws<RedisServerException>(() => db.StringIncrement("bin"));
        Assert.Contains("value is not an integer", error.Message, StringComparison.Ordinal);
        var other = connection.GetDatabase(5);
        Assert.True(other.StringSet("k", "five"));
        Assert.Equal("xyz", (string?)db.StringGet("k"));
    }

    // Its conditions are WATCH, a look, MULTI ... EXEC.
    [Fact]
    public async Task Transactions_with_and_without_conditions()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        using var other = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        db.StringSet("text", "no number");
        var transaction = db.CreateTransaction();
        var set = transaction.StringSetAsync("a", 1);
        var sum = transaction.StringIncrementAsync("a", 41);
        var fails = transaction.StringIncrementAsync("text");
        Assert.True(transaction.Execute());
        Assert.True(await set);
        Assert.Equal(42, await sum);
        await Assert.ThrowsAnyAsync<RedisException>(() => fails);

        foreach (var (condition, holds) in new[]
        {
            (Condition.KeyExists("a"), true), (Condition.KeyNotExists("a"), false), (Condition.KeyNotExists("b"), true),
            (Condition.StringEqual("a", 42), true), (Condition.StringEqual("a", 43), false), (Condition.StringNotEqual("a", 43), true),
        })
        {
            transaction = db.CreateTransaction();
            var result = transaction.AddCondition(condition);
            var counted = transaction.StringIncrementAsync("count");
            Assert.Equal(holds, await transaction.ExecuteAsync());
            Assert.Equal(holds, result.WasSatisfied);
            if (holds) await counted;
            else await Assert.ThrowsAnyAsync<OperationCanceledException>(() => counted);
        }

        Assert.Equal(4, (int)db.StringGet("count"));

        // Two who add by condition: each addition is one that saw the last value.
        int added = 0;
        await Task.WhenAll(new[] { db, other.GetDatabase() }.Select(mine => Task.Run(async () =>
        {
            for (int i = 0; i < 200; i++)
            {
                var seen = await mine.StringGetAsync("cas");
                var attempt = mine.CreateTransaction();
                attempt.AddCondition(seen.IsNull ? Condition.KeyNotExists("cas") : Condition.StringEqual("cas", seen));
                _ = attempt.StringSetAsync("cas", (seen.IsNull ? 0 : (int)seen) + 1);
                if (await attempt.ExecuteAsync()) Interlocked.Increment(ref added);
            }
        })));
        Assert.Equal(added, (int)db.StringGet("cas"));
        Assert.True(added > 0);
    }

    [Fact]
    public void Sorted_sets()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.True(db.SortedSetAdd("z", "a", 1));
        Assert.False(db.SortedSetAdd("z", "a", 1.5));
        Assert.Equal(2, db.SortedSetAdd("z", [new("b", 2), new("c", double.PositiveInfinity)]));
        Assert.Equal(1.5, db.SortedSetScore("z", "a"));
        Assert.Null(db.SortedSetScore("z", "none"));
        Assert.Equal(3, db.SortedSetLength("z"));
        Assert.Equal(2, db.SortedSetLength("z", 1, 2));
        Assert.Equal(1, db.SortedSetRank("z", "b"));
        Assert.Equal(0, db.SortedSetRank("z", "c", Order.Descending));
        Assert.Equal(["a", "b", "c"], db.SortedSetRangeByRank("z").Select(v => (string?)v));
        Assert.Equal([new("c", double.PositiveInfinity), new("b", 2)], db.SortedSetRangeByRankWithScores("z", 0, 1, Order.Descending));
        Assert.Equal(["b"], db.SortedSetRangeByScore("z", 1.5, 10, Exclude.Start).Select(v => (string?)v));
        Assert.Equal(5, db.SortedSetIncrement("z", "b", 3));
        Assert.Equal(3, db.SortedSetCombineAndStore(SetOperation.Union, "u", "z", "none"));
        Assert.Equal(3, db.SortedSetScan("u").Count());
        Assert.True(db.SortedSetRemove("z", "c"));
        Assert.Equal(1, db.SortedSetRemoveRangeByRank("z", 0, 0));
        Assert.Equal(1, db.SortedSetRemoveRangeByScore("z", 5, 5));
        Assert.False(db.KeyExists("z"));
        Assert.True(db.GeoAdd("g", 13.361389, 38.115556, "Palermo"));
        Assert.Equal(0, db.GeoDistance("g", "Palermo", "Palermo"));
        Assert.Equal("sqc8b49rny0", db.GeoHash("g", "Palermo"));
    }

    [Fact]
    public void Lists()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.Equal(3, db.ListRightPush("l", new RedisValue[] { "b", "c", "d" }));
        Assert.Equal(4, db.ListLeftPush("l", "a"));
        Assert.Equal(4, db.ListLength("l"));
        Assert.Equal("d", (string?)db.ListGetByIndex("l", -1));
        Assert.True(db.ListGetByIndex("l", 4).IsNull);
        Assert.Equal(5, db.ListInsertBefore("l", "c", "bc"));
        Assert.Equal(6, db.ListInsertAfter("l", "c", "cd"));
        db.ListSetByIndex("l", 0, "A");
        Assert.Equal(["A", "b", "bc", "c", "cd", "d"], db.ListRange("l").Select(v => (string)v!).ToArray());
        Assert.Equal(1, db.ListRemove("l", "bc"));
        Assert.Equal("d", (string?)db.ListRightPopLeftPush("l", "m"));
        db.ListTrim("l", 1, -1);
        Assert.Equal("b", (string?)db.ListLeftPop("l"));
        Assert.Equal("cd", (string?)db.ListRightPop("l"));
        Assert.True(db.ListRightPop("none").IsNull);
        Assert.Equal(RedisType.List, db.KeyType("m"));
        var values = Enumerable.Range(0, 5000).Select(i => (RedisValue)$"element {i}").ToArray();
        Assert.Equal(5000, db.ListRightPush("large", values));
        Assert.Equal(values, db.ListRange("large"));
        Assert.Equal("element 2500", (string?)db.ListGetByIndex("large", 2500));
    }

    [Fact]
    public async Task Ten_thousand_commands_in_flight_come_back_in_order()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        var sets = Enumerable.Range(0, 10_000).Select(i => db.StringSetAsync($"k{i}", i)).ToArray();
        Assert.DoesNotContain(false, await Task.WhenAll(sets));
        var values = await Task.WhenAll(Enumerable.Range(0, 10_000).Select(i => db.StringGetAsync($"k{i}")));
        Assert.Equal(Enumerable.Range(0, 10_000), values.Select(v => (int)v));
    }

    [Fact]
    public void The_server_interface_lists_keys_configuration_and_clients()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        for (int i = 0; i < 1000; i++) db.StringSet($"key:{i}", i, flags: CommandFlags.FireAndForget);
        db.Ping();
        var server = connection.GetServer(borrowed.Server.EndPoint);
        Assert.Equal(1000, server.Keys(pageSize: 50).Select(k => (string?)k).Distinct().Count());
        Assert.Equal(111, server.Keys(pattern: "key:1*").Select(k => (string?)k).Distinct().Count());
        Assert.Equal(1000, server.DatabaseSize());
        Assert.Equal("noeviction", server.ConfigGet("maxmemory-policy").Single().Value);
        Assert.Contains(server.ClientList(), client => client.Name == "harness");
        Assert.Contains(server.Info().SelectMany(group => group), field => field.Key == "redis_version");
        Assert.True(server.Version >= new Version(7, 0));
        Assert.True(server.IsConnected);
        Assert.InRange((DateTime.UtcNow - server.Time()).Duration().TotalMinutes, 0, 5);
        server.FlushDatabase();
        Assert.Equal(0, server.DatabaseSize());
    }

    [Fact]
    public async Task Publish_and_subscribe_by_channel_and_by_pattern()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var subscriber = connection.GetSubscriber();
        var got = new System.Collections.Concurrent.BlockingCollection<string>();
        await subscriber.SubscribeAsync(new RedisChannel("ch", RedisChannel.PatternMode.Literal), (_, message) => got.Add($"ch {message}"));
        await subscriber.SubscribeAsync(new RedisChannel("p*", RedisChannel.PatternMode.Pattern), (channel, message) => got.Add($"{channel} {message}"));
        Assert.Equal(1, await subscriber.PublishAsync(new RedisChannel("ch", RedisChannel.PatternMode.Literal), "hello"));
        Assert.True(got.TryTake(out string? first, 10_000));
        Assert.Equal("ch hello", first);
        Assert.Equal(1, await subscriber.PublishAsync(new RedisChannel("pat", RedisChannel.PatternMode.Literal), "world"));
        Assert.True(got.TryTake(out string? second, 10_000));
        Assert.Equal("pat world", second);
        await subscriber.UnsubscribeAllAsync();
        Assert.Equal(0, await subscriber.PublishAsync(new RedisChannel("ch", RedisChannel.PatternMode.Literal), "nobody"));
    }

    [Fact]
    public void A_lock_is_taken_once()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        // SET NX EX; its release and extension need transactions, which come with a later stage.
        Assert.True(db.LockTake("lock", "me", TimeSpan.FromMinutes(1)));
        Assert.False(db.LockTake("lock", "you", TimeSpan.FromMinutes(1)));
        Assert.Equal("me", (string?)db.LockQuery("lock"));
        Assert.True(db.KeyDelete("lock"));
        Assert.True(db.LockTake("lock", "you", TimeSpan.FromMinutes(1)));
    }

    [Fact]
    public void It_reconnects_after_its_connections_are_killed()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        db.StringSet("k", "v");
        using (var killer = borrowed.Server.Connect()) killer.Ok("CLIENT KILL TYPE normal SKIPME yes");
        Eventually.Holds(() =>
        {
            try
            {
                return db.StringGet("k") == "v";
            }
            catch (Exception e) when (e is RedisConnectionException or TimeoutException)
            {
                return false;
            }
        }, () => "no reconnect", 60_000);
    }

    private static ConnectionMultiplexer Connect(TestServer server)
    {
        var options = new ConfigurationOptions { AllowAdmin = true, ClientName = "harness", AbortOnConnectFail = true, SyncTimeout = 10_000 };
        options.EndPoints.Add((IPEndPoint)server.EndPoint);
        return ConnectionMultiplexer.Connect(options);
    }
}
