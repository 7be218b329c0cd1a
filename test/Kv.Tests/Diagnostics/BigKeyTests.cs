using System.Diagnostics;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Diagnostics;

/// <summary>KV.BIGKEYS: the largest keys, whatever happens to them.</summary>
public sealed class BigKeyTests
{
    private static readonly string[] Types = ["string", "list", "set", "zset", "hash", "stream"];

    [Fact]
    public void The_largest_of_each_type_are_found_by_memory_and_by_elements()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        var random = Seed.NewRandom(6161);
        for (int i = 0; i < 60; i++)
        {
            client.Ok($"SELECT {i % 3}");
            int many = random.Next(1, 1500), size = random.Next(1, 40);
            string element = new('e', size);
            client.Ok($"SET string{i} {new string('v', random.Next(100_000))}");
            client.Ok($"RPUSH list{i} {Elements(many, n => element)}");
            client.Ok($"SADD set{i} {Elements(many, n => i % 2 == 0 ? $"{n}" : $"{element}{n}")}");
            client.Ok($"ZADD zset{i} {Elements(many, n => $"{n} {element}{n}")}");
            client.Ok($"HSET hash{i} {Elements(many, n => $"{n} {element}")}");
            for (int n = 0; n < many; n += 100) client.Ok($"XADD stream{i} * field {element}");
        }

        var all = new List<(string Type, long Bytes, long Elements)>();
        for (int i = 0; i < 60; i++)
        {
            client.Ok($"SELECT {i % 3}");
            foreach (string type in Types)
                all.Add((type, client.Ok($"MEMORY USAGE {type}{i}").Integer, CountOf(client, type, $"{type}{i}")));
        }

        foreach (string type in Types)
        {
            var ofType = all.Where(key => key.Type == type).ToList();
            Await(client, $"KV.BIGKEYS TYPE {type}", keys => keys.Select(key => key.Bytes),
                ofType.Select(key => key.Bytes).OrderDescending().Take(BigKeys.ShownMax));
            Await(client, $"KV.BIGKEYS ELEMENTS TYPE {type} COUNT 5", keys => keys.Select(key => key.Elements),
                ofType.Select(key => key.Elements).OrderDescending().Take(5));
        }

        Await(client, "KV.BIGKEYS COUNT 20", keys => keys.Select(key => key.Bytes), all.GroupBy(key => key.Type)
            .SelectMany(group => group.Select(key => key.Bytes).OrderDescending().Take(BigKeys.ShownMax))
            .OrderDescending().Take(20));
        Assert.All(Keys(client, "KV.BIGKEYS COUNT 1000"), key => Assert.StartsWith(key.Type, key.Name,
            StringComparison.Ordinal));
        kv.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void A_key_that_is_gone_is_gone_from_the_list_and_figures_are_of_now()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        string[] names = ["deleted", "renamed", "expired", "replaced", "grown", "cleared"];
        foreach (string name in names) client.Ok($"RPUSH {name} {Elements(1000, n => $"element{n}")}");
        AwaitNames(client, "KV.BIGKEYS", names);

        client.Ok("DEL deleted");
        client.Ok("RENAME renamed other");
        client.Ok("SET replaced v");
        client.Ok("LTRIM cleared 1 0");
        client.Ok("RPUSH grown 1 2 3");
        Assert.Equal(["expired", "grown"], Keys(client, "KV.BIGKEYS TYPE list").Select(key => key.Name)
            .Where(name => name != "other").Order());      // which may have been found by now
        Assert.Equal((client.Ok("MEMORY USAGE grown").Integer, 1003L), Keys(client, "KV.BIGKEYS TYPE list")
            .Where(key => key.Name == "grown").Select(key => (key.Bytes, key.Elements)).Single());
        AwaitNames(client, "KV.BIGKEYS", ["expired", "grown", "other", "replaced"]);
        client.Ok("PEXPIRE expired 1");
        AwaitNames(client, "KV.BIGKEYS", ["grown", "other", "replaced"]);

        client.Ok("SWAPDB 0 5");
        Assert.DoesNotContain(Keys(client, "KV.BIGKEYS"), key => key.Database == 0);
        AwaitNames(client, "KV.BIGKEYS", ["grown", "other", "replaced"]);
        Assert.All(Keys(client, "KV.BIGKEYS"), key => Assert.Equal(5, key.Database));
        client.Ok("FLUSHALL");
        Assert.Empty(Keys(client, "KV.BIGKEYS"));
    }

    [Fact]
    public void A_transaction_that_holds_the_key_waits_for_nobody()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok($"SADD big {Elements(1000, n => $"member{n}")}");
        AwaitNames(client, "KV.BIGKEYS", ["big"]);
        client.Say("MULTI\nSADD big another\nKV.BIGKEYS\nINFO bigkeys");
        var replies = client.Ok("EXEC").Items!;
        // As it was when it was last measured.
        Assert.Equal([(1000L, "big")], replies[1].Items!.Select(key => (key.Items![9].Integer, key.Items[1].String)));
        Assert.Contains("\r\nkv_bigkey_set_0:db=0,key=big,bytes=", replies[2].String, StringComparison.Ordinal);
        Assert.Equal(1001, Keys(client, "KV.BIGKEYS").Single().Elements);
        foreach (string sections in (string[])["", "all", "everything", "default"])
            Assert.DoesNotContain("# Bigkeys", client.Ok($"INFO {sections}").String, StringComparison.Ordinal);
    }

    [Fact]
    public void Of_many_keys_a_bounded_number_is_known_and_none_with_a_very_long_name()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok($"SET {new string('n', BigKeys.NameBytesMax + 1)} {new string('v', 50_000)}");
        client.Ok($"SET {new string('n', BigKeys.NameBytesMax)} {new string('v', 40_000)}");
        for (int i = 0; i < 5000; i++) client.Send($"SET key{i:0000} {new string('v', 1 + i)}");
        for (int i = 0; i < 5000; i++) client.Read();
        string[] expected = [new('n', BigKeys.NameBytesMax),
            .. Enumerable.Range(1, BigKeys.ShownMax - 1).Select(i => $"key{5000 - i:0000}")];
        // Values of one size class or another may take equally many bytes.
        Eventually.Holds(() => Keys(client, "KV.BIGKEYS COUNT 1000") is { Count: BigKeys.ShownMax } keys
            && keys[0].Name == expected[0] && keys.Skip(1).All(key => string.CompareOrdinal(key.Name, "key4950") >= 0),
            () => string.Join(' ', Keys(client, "KV.BIGKEYS COUNT 1000")));
        Assert.InRange(kv.Server.Store.BigKeys.Found.Length, BigKeys.ShownMax, 2 * BigKeys.KeptMax);
    }

    [Fact]
    public void Who_may_not_read_a_key_is_not_told_of_it()
    {
        using var kv = KvInstance.Start();
        using var admin = kv.Connect();
        using var client = kv.Connect();
        admin.Ok("MSET mine:1 v theirs vv written vvv");
        AwaitNames(admin, "KV.BIGKEYS", ["mine:1", "theirs", "written"]);
        admin.Ok("ACL SETUSER u on nopass %R~mine* %W~written +@all");
        client.Ok("AUTH u x");
        Assert.Equal(["mine:1"], Keys(client, "KV.BIGKEYS").Select(key => key.Name));
        Assert.DoesNotContain("theirs", client.Ok("INFO bigkeys").String, StringComparison.Ordinal);
        Assert.Contains(",key=mine:1,", client.Ok("INFO bigkeys").String, StringComparison.Ordinal);
    }

    [Fact]
    public void INFO_has_no_key_that_is_gone()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("SET k v");
        AwaitNames(client, "KV.BIGKEYS", ["k"]);
        Assert.Contains(",key=k,bytes=", client.Ok("INFO bigkeys").String, StringComparison.Ordinal);
        client.Ok("FLUSHALL");
        string text = client.Ok("INFO bigkeys").String;
        Assert.DoesNotContain("kv_bigkey_", text, StringComparison.Ordinal);
        Assert.Contains("kv_biggest_key_bytes:0\r\n", text, StringComparison.Ordinal);
    }

    [Fact]
    public void The_pause_after_a_round_is_bounded_also_where_others_had_the_processor()
    {
        long second = Stopwatch.Frequency;
        Assert.Equal(second / 5, LogWalk.PauseTicks(second / 1000, 200, 0));
        Assert.Equal(second, LogWalk.PauseTicks(60 * second, 200, 0));
        Assert.Equal(second, LogWalk.PauseTicks(1, 200, second));
    }

    [Fact]
    public void A_store_at_rest_is_not_walked()
    {
        using var kv = KvInstance.Start(new Kv.Tests.Storage.TestClock());
        using var client = kv.Connect();
        var clock = (Kv.Tests.Storage.TestClock)kv.Server.Time;
        client.Ok("SET k v");
        AwaitNames(client, "KV.BIGKEYS", ["k"]);
        clock.Advance(5000);
        // One more, since the clock has stood still: what is written in the second of a walk may be missed by it.
        var keys = kv.Server.Store.BigKeys;
        long walks = -1;
        Eventually.Holds(() => walks == (walks = keys.Walks) & WaitForRounds(kv, 30), () => $"{walks} walks");
        client.Ok("SET l v");
        Eventually.Holds(() => keys.Walks > walks, () => "nothing was walked");
    }

    // Rounds of upkeep, with the rest between two walks.
    private static bool WaitForRounds(KvInstance kv, int rounds)
    {
        for (int i = 0; i < rounds; i++)
        {
            kv.Server.Store.Maintain();
            Thread.Sleep(50);
        }

        return true;
    }

    private static long CountOf(RespClient client, string type, string key) => client.Ok(type switch
    {
        "string" => $"STRLEN {key}", "list" => $"LLEN {key}", "set" => $"SCARD {key}", "zset" => $"ZCARD {key}",
        "hash" => $"HLEN {key}", _ => $"XLEN {key}",
    }).Integer;

    private static string Elements(int count, Func<int, string> element) =>
        string.Join(' ', Enumerable.Range(0, count).Select(element));

    private static void AwaitNames(RespClient client, string command, string[] names) =>
        Await(client, command, keys => keys.Select(key => key.Name).Order(StringComparer.Ordinal),
            names.Order(StringComparer.Ordinal));

    private static void Await<T>(RespClient client, string command,
        Func<List<(string Name, int Database, string Type, long Bytes, long Elements)>, IEnumerable<T>> read,
        IEnumerable<T> expected)
    {
        var wanted = expected.ToList();
        Eventually.Holds(() => read(Keys(client, command)).SequenceEqual(wanted),
            () => $"{command}: {string.Join(' ', Keys(client, command))}; not {string.Join(' ', wanted)}");
    }

    private static List<(string Name, int Database, string Type, long Bytes, long Elements)> Keys(RespClient client,
        string command) =>
        [.. client.Ok(command).Items!.Select(key => (key.Items![1].String, (int)key.Items[3].Integer,
            key.Items[5].String, key.Items[7].Integer, key.Items[9].Integer))];
}
