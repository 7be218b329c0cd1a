using System.Net;
using System.Runtime.CompilerServices;
using Kv.Tests.Harness;
using StackExchange.Redis;

namespace Kv.Tests.Clients;

/// <summary>StackExchange.Redis through its API, as applications use it. Source that versions 1.2.6 to 3 all
/// take.</summary>
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
        await LeaveTheClientsThread();
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
            (Condition.StringEqual("a", 42), true), (Condition.StringEqual("a", 43), false),
            (Condition.StringNotEqual("a", 43), true),
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
        await LeaveTheClientsThread();
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
        Assert.Equal([new("c", double.PositiveInfinity), new("b", 2)],
            db.SortedSetRangeByRankWithScores("z", 0, 1, Order.Descending));
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
    public void Hashes()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.True(db.HashSet("h", "name", "Ada"));
        Assert.False(db.HashSet("h", "name", "Eve"));
        Assert.False(db.HashSet("h", "name", "Bob", When.NotExists));
        db.HashSet("h", new HashEntry[] { new("n", 1), new("f", "0.5") });
        Assert.Equal("Eve", (string?)db.HashGet("h", "name"));
        Assert.True(db.HashGet("h", "none").IsNull);
        Assert.Equal(["1", "", "Eve"], db.HashGet("h", new RedisValue[] { "n", "none", "name" })
            .Select(v => (string?)v ?? ""));
        Assert.Equal(42, db.HashIncrement("h", "n", 41));
        Assert.Equal(40, db.HashDecrement("h", "n", 2));
        Assert.Equal(0.75, db.HashIncrement("h", "f", 0.25));
        Assert.Equal(3, db.HashLength("h"));
        Assert.True(db.HashExists("h", "f"));
        Assert.Equal(["f", "n", "name"], Sorted(db.HashKeys("h")));
        Assert.Equal(["0.75", "40", "Eve"], Sorted(db.HashValues("h")));
        Assert.Equal(["f=0.75", "n=40", "name=Eve"],
            db.HashGetAll("h").Select(e => $"{e.Name}={e.Value}").Order(StringComparer.Ordinal));
        Assert.Equal(RedisType.Hash, db.KeyType("h"));
        Assert.True(db.HashDelete("h", "f"));
        Assert.Equal(2, db.HashDelete("h", new RedisValue[] { "n", "name", "none" }));
        Assert.False(db.KeyExists("h"));
        db.HashSet("large", Enumerable.Range(0, 5000).Select(i => new HashEntry($"field {i}", i)).ToArray());
        Assert.Equal(5000, db.HashLength("large"));
        Assert.Equal(Enumerable.Range(0, 5000),
            db.HashScan("large", "*", 100).Select(e => (int)e.Value).Distinct().Order());
        var error = Assert.Throws<RedisServerException>(() => db.ListLeftPush("large", "x"));
        Assert.StartsWith("WRONGTYPE", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Sets()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.True(db.SetAdd("s", "a"));
        Assert.False(db.SetAdd("s", "a"));
        Assert.Equal(2, db.SetAdd("s", new RedisValue[] { "a", "b", "c" }));
        Assert.Equal(3, db.SetAdd("t", new RedisValue[] { "b", "c", "d" }));
        Assert.True(db.SetContains("s", "b"));
        Assert.False(db.SetContains("s", "d"));
        Assert.Equal(3, db.SetLength("s"));
        Assert.Equal(["a", "b", "c"], Sorted(db.SetMembers("s")));
        Assert.Equal(["a", "b", "c", "d"], Sorted(db.SetCombine(SetOperation.Union, "s", "t")));
        Assert.Equal(["b", "c"], Sorted(db.SetCombine(SetOperation.Intersect, "s", "t")));
        Assert.Equal(["a"], Sorted(db.SetCombine(SetOperation.Difference, new RedisKey[] { "s", "t", "none" })));
        Assert.Equal(4, db.SetCombineAndStore(SetOperation.Union, "u", "s", "t"));
        Assert.True(db.SetMove("s", "v", "a"));
        Assert.Equal(["a"], Sorted(db.SetMembers("v")));
        Assert.Contains((string?)db.SetRandomMember("s"), new[] { "b", "c" });
        Assert.Equal(["b", "c"], Sorted(db.SetRandomMembers("s", 10)));
        Assert.Equal("a", (string?)db.SetPop("v"));
        Assert.True(db.SetPop("v").IsNull);
        Assert.True(db.SetRemove("s", "b"));
        Assert.Equal(1, db.SetRemove("s", new RedisValue[] { "b", "c" }));
        Assert.Equal(RedisType.Set, db.KeyType("u"));
        Assert.Equal(5000, db.SetAdd("large", Enumerable.Range(0, 5000).Select(i => (RedisValue)$"m{i}").ToArray()));
        Assert.Equal(5000, db.SetScan("large", "m*", 100).Select(v => (string?)v).Distinct().Count());
        Assert.Equal(5000, db.SetMembers("large").Select(v => (string?)v).Distinct().Count());
    }

    [Fact]
    public void Sorted_sets_by_value_and_combined_with_weights()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.Equal(4, db.SortedSetAdd("z", "abcd".Select(c => new SortedSetEntry(c.ToString(), 0)).ToArray()));
        Assert.Equal(["b", "c"], db.SortedSetRangeByValue("z", "a", "c", Exclude.Start).Select(v => (string?)v));
        Assert.Equal(3, db.SortedSetLengthByValue("z", "b", "d"));
        Assert.Equal(2, db.SortedSetRemoveRangeByValue("z", "b", "c"));
        Assert.False(db.SortedSetAdd("z", "a", 7, When.NotExists));
        Assert.Equal(-2.5, db.SortedSetDecrement("z", "d", 2.5));
        Assert.Equal(["d", "a"], db.SortedSetRangeByScoreWithScores("z").Select(e => (string?)e.Element));
        db.SortedSetAdd("y", new SortedSetEntry[] { new("a", 10), new("x", 1) });
        Assert.Equal(3, db.SortedSetCombineAndStore(SetOperation.Union, "u", new RedisKey[] { "z", "y" }, [2, 3],
            Aggregate.Max));
        Assert.Equal([new("d", -5), new("x", 3), new("a", 30)], db.SortedSetRangeByRankWithScores("u"));
        Assert.Equal(1, db.SortedSetCombineAndStore(SetOperation.Intersect, "i", "z", "y", Aggregate.Sum));
        Assert.Equal(10, db.SortedSetScore("i", "a"));
        Assert.Equal(2, db.SortedSetRemove("u", new RedisValue[] { "a", "x", "none" }));
        Assert.Equal(RedisType.SortedSet, db.KeyType("u"));
        Assert.Equal(5000, db.SortedSetAdd("large",
            Enumerable.Range(0, 5000).Select(i => new SortedSetEntry($"m{i}", i)).ToArray()));
        Assert.Equal(Enumerable.Range(0, 5000).Select(i => (double)i),
            db.SortedSetRangeByRankWithScores("large").Select(e => e.Score));
        Assert.Equal(5000, db.SortedSetScan("large", "m*", 100).Select(e => (string?)e.Element).Distinct().Count());
    }

    [Fact]
    public void Places()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.Equal(2, db.GeoAdd("g",
            new GeoEntry[] { new(13.361389, 38.115556, "Palermo"), new(15.087269, 37.502669, "Catania") }));
        Assert.False(db.GeoAdd("g", new GeoEntry(15.087269, 37.502669, "Catania")));
        Assert.Equal(166.2742, db.GeoDistance("g", "Palermo", "Catania", GeoUnit.Kilometers)!.Value, 4);
        Assert.Null(db.GeoDistance("g", "Palermo", "none"));
        Assert.Equal(["sqc8b49rny0", null, "sqdtr74hyu0"],
            db.GeoHash("g", new RedisValue[] { "Palermo", "none", "Catania" }).AsEnumerable());
        Assert.Equal(13.361389, db.GeoPosition("g", "Palermo")!.Value.Longitude, 5);
        var positions = db.GeoPosition("g", new RedisValue[] { "none", "Catania" });
        Assert.Null(positions[0]);
        Assert.Equal(37.502669, positions[1]!.Value.Latitude, 5);
        var near = db.GeoRadius("g", 15, 37, 200, GeoUnit.Kilometers, -1, Order.Ascending,
            GeoRadiusOptions.WithDistance | GeoRadiusOptions.WithCoordinates);
        Assert.Equal(["Catania", "Palermo"], near.Select(e => (string?)e.Member));
        Assert.Equal(56.4413, near[0].Distance!.Value, 4);
        Assert.Equal(13.361389, near[1].Position!.Value.Longitude, 5);
        Assert.Equal(["Palermo"], db.GeoRadius("g", "Palermo", 100, GeoUnit.Kilometers).Select(e => (string?)e.Member));
        Assert.True(db.GeoRemove("g", "Palermo"));
    }

    [Fact]
    public void Bits_and_cardinalities()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.False(db.StringSetBit("b", 7, true));
        Assert.True(db.StringSetBit("b", 7, true));
        Assert.False(db.StringSetBit("b", 100, true));
        Assert.True(db.StringGetBit("b", 100));
        Assert.False(db.StringGetBit("b", 1000));
        Assert.Equal(2, db.StringBitCount("b", 0, -1));
        Assert.Equal(1, db.StringBitCount("b", 1, -1));
        Assert.Equal(7, db.StringBitPosition("b", true, 0, -1));
        Assert.Equal(100, db.StringBitPosition("b", true, 1, -1));
        db.StringSetBit("c", 7, true);
        Assert.Equal(13, db.StringBitOperation(Bitwise.And, "d", "b", "c"));
        Assert.Equal(1, db.StringBitCount("d", 0, -1));
        Assert.Equal(13, db.StringBitOperation(Bitwise.Xor, "d", new RedisKey[] { "b", "c", "none" }));
        Assert.Equal(100, db.StringBitPosition("d", true, 0, -1));
        Assert.Equal(13, (int)db.StringSetRange("d", 10, "xyz"));
        Assert.True(db.HyperLogLogAdd("p", "a"));
        Assert.False(db.HyperLogLogAdd("p", "a"));
        Assert.True(db.HyperLogLogAdd("q", Enumerable.Range(0, 1000).Select(i => (RedisValue)i).ToArray()));
        Assert.Equal(1, db.HyperLogLogLength("p"));
        Assert.InRange(db.HyperLogLogLength(new RedisKey[] { "p", "q" }), 960, 1040);
        db.HyperLogLogMerge("r", "p", "q");
        Assert.Equal(db.HyperLogLogLength(new RedisKey[] { "p", "q" }), db.HyperLogLogLength("r"));
    }

    [Fact]
    public async Task Sorting_dumping_moving_and_batches()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        db.ListRightPush("l", new RedisValue[] { 3, 1, 2 });
        db.StringSet(Enumerable.Range(1, 3).Select(i => new KeyValuePair<RedisKey, RedisValue>($"w{i}", 10 - i))
            .ToArray());
        Assert.Equal(["3", "2"], db.Sort("l", 0, 2, Order.Descending).Select(v => (string?)v));
        Assert.Equal(["3", "7", "2", "8", "1", "9"], db.Sort("l", by: "w*", get: ["#", "w*"]).Select(v => (string?)v));
        Assert.Equal(3, db.SortAndStore("sorted", "l"));
        Assert.Equal(["1", "2", "3"], db.ListRange("sorted").Select(v => (string?)v));
        byte[] dump = db.KeyDump("sorted")!;
        Assert.Null(db.KeyDump("none"));
        db.KeyRestore("again", dump, TimeSpan.FromHours(1));
        Assert.Equal(["1", "2", "3"], db.ListRange("again").Select(v => (string?)v));
        Assert.InRange(db.KeyTimeToLive("again")!.Value.TotalSeconds, 3590, 3600);
        Assert.True(db.KeyMove("again", 3));
        Assert.Equal(3, connection.GetDatabase(3).ListLength("again"));
        Assert.False(db.KeyRename("l", "sorted", When.NotExists));
        Assert.False(string.IsNullOrEmpty(db.KeyRandom()));
        db.StringSet("e", "v", TimeSpan.FromHours(1));
        var entry = db.StringGetWithExpiry("e");
        Assert.Equal("v", (string?)entry.Value);
        Assert.InRange(entry.Expiry!.Value.TotalSeconds, 3590, 3600);
        var batch = db.CreateBatch();
        var adds = Enumerable.Range(0, 100).Select(i => batch.ListRightPushAsync("batch", i)).ToArray();
        batch.Execute();
        Assert.Equal(Enumerable.Range(1, 100), (await Task.WhenAll(adds)).Select(count => (int)count));
        await LeaveTheClientsThread();
    }

    // 1.2.6 has no methods for them: commands in words.
    [Fact]
    public void Streams_and_their_groups()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.Equal("1-0", (string?)db.Execute("XADD", "s", "1-0", "a", 1));
        Assert.Equal("1-1", (string?)db.Execute("XADD", "s", "1-*", "b", "2", "c", 3));
        Assert.Equal(2, (long)db.Execute("XLEN", "s"));
        Assert.Equal("1-0[a 1] 1-1[b 2 c 3]", Entries(db.Execute("XRANGE", "s", "-", "+")));
        Assert.Equal("1-1[b 2 c 3]", Entries(db.Execute("XREVRANGE", "s", "+", "-", "COUNT", 1)));
        Assert.Equal("OK", (string?)db.Execute("XGROUP", "CREATE", "s", "g", 0));
        var busy = Assert.Throws<RedisServerException>(() => db.Execute("XGROUP", "CREATE", "s", "g", 0));
        Assert.StartsWith("BUSYGROUP", busy.Message, StringComparison.Ordinal);
        var read = (RedisResult[])(
            (RedisResult[])db.Execute("XREADGROUP", "GROUP", "g", "me", "COUNT", 1, "STREAMS", "s", ">")!)[0]!;
        Assert.Equal("s", (string?)read[0]);
        Assert.Equal("1-0[a 1]", Entries(read[1]));
        Assert.Equal(1, (long)((RedisResult[])db.Execute("XPENDING", "s", "g")!)[0]);
        Assert.Equal("1-0[a 1]", Entries(db.Execute("XCLAIM", "s", "g", "you", 0, "1-0")));
        Assert.Equal(1, (long)db.Execute("XACK", "s", "g", "1-0"));
        Assert.Equal(0, (long)((RedisResult[])db.Execute("XPENDING", "s", "g")!)[0]);
        Assert.Equal(1, (long)db.Execute("XDEL", "s", "1-0"));
        Assert.True(db.Execute("XREAD", "STREAMS", "s", "1-1").IsNull);
        Assert.Equal("stream", (string?)db.Execute("TYPE", "s"));
        byte[] bytes = [0, 13, 10, 255];
        for (int i = 1; i <= 300; i++) db.Execute("XADD", "trimmed", "MAXLEN", 2, $"{i}-0", "field", bytes);
        var last = (RedisResult[])((RedisResult[])db.Execute("XRANGE", "trimmed", "-", "+")!)[1]!;
        Assert.Equal("300-0", (string?)last[0]);
        Assert.Equal(bytes, (byte[]?)((RedisResult[])last[1]!)[1]);
        Assert.Equal(2, (long)db.Execute("XLEN", "trimmed"));
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
        await LeaveTheClientsThread();
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
        await subscriber.SubscribeAsync(new RedisChannel("ch", RedisChannel.PatternMode.Literal),
            (_, message) => got.Add($"ch {message}"));
        await subscriber.SubscribeAsync(new RedisChannel("p*", RedisChannel.PatternMode.Pattern),
            (channel, message) => got.Add($"{channel} {message}"));
        Assert.Equal(1, await subscriber.PublishAsync(
            new RedisChannel("ch", RedisChannel.PatternMode.Literal), "hello"));
        Assert.True(got.TryTake(out string? first, 10_000));
        Assert.Equal("ch hello", first);
        Assert.Equal(1, await subscriber.PublishAsync(
            new RedisChannel("pat", RedisChannel.PatternMode.Literal), "world"));
        Assert.True(got.TryTake(out string? second, 10_000));
        Assert.Equal("pat world", second);
        await subscriber.UnsubscribeAllAsync();
        Assert.Equal(0, await subscriber.PublishAsync(
            new RedisChannel("ch", RedisChannel.PatternMode.Literal), "nobody"));
        await LeaveTheClientsThread();
    }

    [Fact]
    public void A_lock_is_taken_once()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        Assert.True(db.LockTake("lock", "me", TimeSpan.FromMinutes(1)));
        Assert.False(db.LockTake("lock", "you", TimeSpan.FromMinutes(1)));
        Assert.Equal("me", (string?)db.LockQuery("lock"));
        Assert.False(db.LockExtend("lock", "you", TimeSpan.FromMinutes(5)));
        Assert.True(db.LockExtend("lock", "me", TimeSpan.FromMinutes(5)));
        Assert.False(db.LockRelease("lock", "you"));
        Assert.True(db.LockRelease("lock", "me"));
        Assert.True(db.LockTake("lock", "you", TimeSpan.FromMinutes(1)));
    }

    [Fact]
    public void Scripts_are_evaluated_by_text_by_sha_and_by_names()
    {
        using var borrowed = SharedServers.Kv();
        using var connection = Connect(borrowed.Server);
        var db = connection.GetDatabase();
        const string text = "redis.call('SET', KEYS[1], ARGV[1]) return {redis.call('GET', KEYS[1]), #ARGV}";
        for (int i = 0; i < 2; i++)
        {
            var answer = (RedisResult[])db.ScriptEvaluate(text, ["k"], [$"v{i}", "more"])!;
            Assert.Equal($"v{i}", (string?)answer[0]);
            Assert.Equal(2, (int)answer[1]);
        }

        var named = LuaScript.Prepare("return redis.call('INCRBY', @key, @by)");
        Assert.Equal(5, (int)db.ScriptEvaluate(named, new { key = (RedisKey)"n", by = 5 }));
        var refused = Assert.Throws<RedisServerException>(() => db.ScriptEvaluate("return redis.call('INCR', KEYS[1])",
            ["k"]));
        Assert.StartsWith("ERR value is not an integer or out of range", refused.Message, StringComparison.Ordinal);
    }

    // On a busy machine this version of the client now and then stays without a connection for ever, with redis-server
    // as well (2 of 8 times): then another one has to do it.
    [Fact]
    public void It_reconnects_after_its_connections_are_killed()
    {
        using var borrowed = SharedServers.Kv();
        Assert.True(Enumerable.Range(0, 10).Any(_ => Reconnects(borrowed.Server)), "none of ten has reconnected");
    }

    private static bool Reconnects(TestServer server)
    {
        using var connection = Connect(server, syncTimeoutMs: 2000);
        var db = connection.GetDatabase();
        db.StringSet("k", "v");
        using (var killer = server.Connect()) killer.Ok("CLIENT KILL TYPE normal SKIPME yes");
        for (int tries = 0; tries < 100; tries++)
        {
            try
            {
                return db.StringGet("k") == "v";
            }
            catch (TimeoutException)
            {
                return false;
            }
            catch (RedisConnectionException)
            {
                Thread.Sleep(50);
            }
        }

        return false;
    }

    // An await goes on where the client completes its tasks, one after the other. Dispose waits for QUIT's, which would
    // come behind, for all of SyncTimeout.
    private static YieldAwaitable LeaveTheClientsThread() => Task.Yield();

    private static IEnumerable<string?> Sorted(RedisValue[] values) =>
        values.Select(v => (string?)v).Order(StringComparer.Ordinal);

    private static string Entries(RedisResult entries) => string.Join(' ', ((RedisResult[])entries!).Select(entry =>
    {
        var parts = (RedisResult[])entry!;
        return $"{(string?)parts[0]}[{string.Join(' ', (string?[])parts[1]!)}]";
    }));

    private static ConnectionMultiplexer Connect(TestServer server, int syncTimeoutMs = 60_000)
    {
        var options = new ConfigurationOptions { AllowAdmin = true, ClientName = "harness", AbortOnConnectFail = true,
            SyncTimeout = syncTimeoutMs };
        options.EndPoints.Add((IPEndPoint)server.EndPoint);
        return ConnectionMultiplexer.Connect(options);
    }
}
